#include "plait/base/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "plait/base/error.h"

namespace plait {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::string file_of(char major, std::string header, std::span<const float> values) {
    std::string bytes = "\x93NUMPY";
    bytes += {major, '\0'};
    const auto length = static_cast<uint32_t>(header.size());
    bytes.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    return bytes;
}

std::string file_of(std::string header, std::span<const float> values) {
    return file_of(1, std::move(header), values);
}

NpyArray parse(const std::string& bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); }

constexpr std::array<float, 6> kValues = {0.5f, -1.0f, 2.0f, 3.25f, -0.0f, 1e-40f};

TEST(Npy, ReadsShapesOfAnyRank) {
    const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
    EXPECT_THAT(parse(file_of(start + "(2, 3), }\n", kValues)).shape, ElementsAre(2, 3));
    EXPECT_THAT(parse(file_of(start + "(1,2,3)}", kValues)).shape, ElementsAre(1, 2, 3));
    EXPECT_THAT(parse(file_of(start + "(6,)}", kValues)).shape, ElementsAre(6));
    EXPECT_THAT(parse(file_of(start + "()}", std::span(kValues).first(1))).shape, IsEmpty());
    EXPECT_THAT(parse(file_of(start + "(0, 5)}", {})).shape, ElementsAre(0, 5));
    EXPECT_THAT(parse(file_of(2, start + "(2, 3)}", kValues)).values, ::testing::ElementsAreArray(kValues));
}

TEST(Npy, ReadsKeysInAnyOrder) {
    const NpyArray array =
        parse(file_of("{'shape': (3, 2), 'fortran_order':False,  'descr' : '<f4'}", kValues));
    EXPECT_THAT(array.shape, ElementsAre(3, 2));
    EXPECT_EQ(array.values[3], 3.25f);
}

TEST(Npy, RefusesOtherArraysInOneSentence) {
    const auto refused = [](const std::string& bytes, const std::string& sentence) {
        EXPECT_THAT([&] { parse(bytes); },
                    ThrowsMessage<Error>(AllOf(HasSubstr("x.npy: "), HasSubstr(sentence))));
    };
    const auto with = [](const std::string& header) { return file_of(header, kValues); };
    refused("", "expected a NumPy array");
    refused("\x93NUMPZ.........", "expected a NumPy array");
    refused(file_of(9, "", {}), "version 1, 2 or 3 of the NumPy format, found 9");
    refused(with("{}"), "has no 'descr'");
    refused(with("{'descr' '<f4'}"), "no value for 'descr'");
    refused(with("{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}"),
            "expected '<f4' for 'descr' in the NumPy header, found ''<f8''");
    refused(with("{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}"),
            "expected False for 'fortran_order'");
    refused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}"),
            "expected 28 bytes of values, found 24");
    refused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}"),
            "expected 20 bytes of values, found 24");
    for (const char* shape : {"6", "(-6,)", "(6", "(2;3)", "(two)", "(99999999999999999999,)"})
        refused(with("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape)),
                "tuple of extents");
    refused(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
            "does not fit");
}

TEST(Npy, RefusesEveryPrefixOfAFile) {
    const std::string whole =
        file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", kValues);
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_THROW(parse(whole.substr(0, size)), Error) << size;
    EXPECT_NO_THROW(parse(whole));
}

class NpyFileTest : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(::testing::TempDir()) / ("plait_npy_" + std::string(test->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_;
};

TEST_F(NpyFileTest, ReadsWhatItWrote) {
    const fs::path path = folder_ / "a.npy";
    NpyWriter writer(path, 3, 2);
    writer.append(std::span(kValues).first(2));
    writer.append(std::span(kValues).subspan(2));
    EXPECT_FALSE(fs::exists(path));
    writer.commit();
    const NpyArray array = read_npy(path);
    EXPECT_THAT(array.shape, ElementsAre(3, 2));
    EXPECT_EQ(0, std::memcmp(array.values.data(), kValues.data(), sizeof kValues));
}

TEST_F(NpyFileTest, PutsValuesAtAMultipleOf64) {
    for (const int64_t cols : {int64_t{1}, int64_t{250}, int64_t{1'000'000}}) {
        const fs::path path = folder_ / std::to_string(cols);
        NpyWriter(path, 0, cols).commit();
        EXPECT_EQ(fs::file_size(path) % 64, 0u) << cols;
        EXPECT_THAT(read_npy(path).shape, ElementsAre(0, cols));
    }
}

TEST_F(NpyFileTest, NamesAMissingFile) {
    EXPECT_THAT([&] { read_npy(folder_ / "none.npy"); }, ThrowsMessage<Error>(HasSubstr("none.npy")));
}

TEST(NpyDeathTest, StopsOnMisuse) {
    const fs::path path = fs::path(::testing::TempDir()) / "plait_npy_misuse.npy";
    EXPECT_DEATH(NpyWriter(path, 2, 2).append(std::span(kValues).first(3)), "whole rows");
    EXPECT_DEATH(NpyWriter(path, 2, 2).append(kValues), "whole rows");
    EXPECT_DEATH(NpyWriter(path, 1, 2).commit(), "every row");
}

}  // namespace
}  // namespace plait
