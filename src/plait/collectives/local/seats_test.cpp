#include "plait/collectives/local/seats.h"

#include <gmock/gmock.h>

namespace plait::collectives::local {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<int> kCores{0, 1, 2, 3};

TEST(Seats, WorkersThatMayRunAnywhereHaveAThreadEachWhileThereAreCores) {
    const Wanted members[] = {{.workers = 2, .pins = {}}, {.workers = 1, .pins = {}}};
    const Seats seats = deal_seats(members, 4, kCores);
    EXPECT_THAT(seats.roles,
                ElementsAre(ElementsAre(Role{0, 0}), ElementsAre(Role{0, 1}), ElementsAre(Role{1, 0})));
    EXPECT_THAT(seats.pins, IsEmpty());
}

TEST(Seats, MoreMembersThanCoresShareThreadsEvenly) {
    const std::vector<Wanted> members(5);
    const Seats seats = deal_seats(members, 2, kCores);
    EXPECT_THAT(seats.roles, ElementsAre(ElementsAre(Role{0, 0}, Role{2, 0}, Role{4, 0}),
                                         ElementsAre(Role{1, 0}, Role{3, 0})));
}

TEST(Seats, AMembersWorkersNeverShareAThread) {
    const Wanted members[] = {{.workers = 3, .pins = {}}, {.workers = 2, .pins = {}}};
    const Seats seats = deal_seats(members, 2, kCores);
    EXPECT_THAT(seats.roles, ElementsAre(ElementsAre(Role{0, 0}, Role{1, 0}),
                                         ElementsAre(Role{0, 1}, Role{1, 1}), ElementsAre(Role{0, 2})));
}

TEST(Seats, MembersOfOneCoreShareItsThread) {
    const Wanted members[] = {{.workers = 1, .pins = {2}}, {.workers = 2, .pins = {1, 2}}};
    const Seats seats = deal_seats(members, 4, kCores);
    EXPECT_THAT(seats.roles, ElementsAre(ElementsAre(Role{0, 0}, Role{1, 1}), ElementsAre(Role{1, 0})));
    EXPECT_THAT(seats.pins, ElementsAre(2, 1));
}

TEST(Seats, MoreWorkersThanNamedCoresHaveThreadsOfTheirOwnThere) {
    const Wanted members[] = {{.workers = 3, .pins = {3}}};
    const Seats seats = deal_seats(members, 4, kCores);
    EXPECT_THAT(seats.roles,
                ElementsAre(ElementsAre(Role{0, 0}), ElementsAre(Role{0, 1}), ElementsAre(Role{0, 2})));
    EXPECT_THAT(seats.pins, ElementsAre(3, 3, 3));
}

TEST(Seats, BesideNamedCoresTheOthersAreForThoseWhoNameNone) {
    const Wanted members[] = {{.workers = 2, .pins = {}}, {.workers = 2, .pins = {0, 1}}};
    EXPECT_THAT(deal_seats(members, 4, kCores).pins, ElementsAre(2, 3, 0, 1));
}

TEST(Seats, WhereAllCoresAreNamedTheyAreShared) {
    const std::vector<int> cores{0, 1};
    const Wanted members[] = {
        {.workers = 2, .pins = {}}, {.workers = 1, .pins = {0}}, {.workers = 1, .pins = {1}}};
    const Seats seats = deal_seats(members, 2, cores);
    EXPECT_THAT(seats.roles,
                ElementsAre(ElementsAre(Role{0, 0}, Role{1, 0}), ElementsAre(Role{0, 1}, Role{2, 0})));
    EXPECT_THAT(seats.pins, ElementsAre(0, 1));
}

}  // namespace
}  // namespace plait::collectives::local
