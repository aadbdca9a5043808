#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "plait/device/contract_kit.h"
#include "plait/device/contract_suite.h"

// The contract of descriptions, buffer types, buffers and transfers.
namespace plait::device::contract {
namespace {

using ir::DType;
using ir::TensorDesc;
using testing::HasSubstr;

TensorDesc bytes_desc(int64_t bytes) { return {DType::F32, {bytes / 4}}; }

// Refused by every device: a region that does not lie in a tensor of 64 bytes.
std::vector<Region> bad_regions(Buffer& buffer) {
    return {
        {.buffer = &buffer, .tensor = 1, .row_bytes = 4},
        {.buffer = &buffer, .tensor = -1, .row_bytes = 4},
        {.buffer = &buffer, .offset = -4, .row_bytes = 4},
        {.buffer = &buffer, .offset = 64, .row_bytes = 4},
        {.buffer = &buffer, .offset = 60, .row_bytes = 8},
        {.buffer = &buffer, .row_bytes = 68},
        {.buffer = &buffer, .row_bytes = 16, .rows = 3, .stride = 32},
        {.buffer = &buffer, .row_bytes = 4, .rows = 2, .stride = int64_t{1} << 62},
        {.buffer = &buffer, .offset = int64_t{1} << 62, .row_bytes = int64_t{1} << 62},
        {.buffer = &buffer, .offset = 32, .row_bytes = 4, .rows = 2, .stride = -4},
    };
}

TEST_P(DeviceContract, DescribesItself) {
    const DeviceDescription& self = device().describe();
    EXPECT_FALSE(self.name.empty());
    EXPECT_FALSE(self.kind.empty());
    EXPECT_FALSE(self.signature.empty());
    EXPECT_FALSE(self.details.empty());
    EXPECT_GT(self.memory_bytes, 0);
    EXPECT_GE(self.workers, 1);
    EXPECT_FALSE(self.rows.empty());
    std::set<std::string> layouts;
    for (size_t i = 0; i < self.buffer_types.size(); ++i) {
        const BufferTypeDescription& type = self.buffer_types[i];
        EXPECT_TRUE(layouts.insert(type.layout_id).second) << type.layout_id;
        EXPECT_EQ(device().buffer_type(static_cast<int>(i)).describe(), type);
        EXPECT_GT(type.alignment, 0);
        EXPECT_EQ(type.alignment & (type.alignment - 1), 0);
        EXPECT_GE(type.over_read, 0);
    }
    EXPECT_EQ(layouts.count(kRowLayout), 1u);
    for (const SupportRow& row : self.rows) {
        EXPECT_LT(row.op, ir::kOpCount);
        EXPECT_EQ(layouts.count(row.weight_layout), 1u) << row.weight_layout;
        EXPECT_GE(row.weight_multiple, 1);
    }
}

TEST_P(DeviceContract, EqualDevicesDescribeThemselvesEqually) {
    const std::unique_ptr<Device> twin = GetParam().make();
    EXPECT_EQ(twin->describe().signature, device().describe().signature);
    EXPECT_EQ(twin->describe().buffer_types, device().describe().buffer_types);
    EXPECT_EQ(twin->describe().rows, device().describe().rows);
}

TEST_P(DeviceContract, TensorsTakeWholeAlignedBytes) {
    const int types = static_cast<int>(device().describe().buffer_types.size());
    for (int i = 0; i < types; ++i) {
        const BufferType& type = device().buffer_type(i);
        const BufferTypeDescription& self = type.describe();
        for (DType format : {DType::F32, DType::F16, DType::Q8_0, DType::Q4_0, DType::Q4_1}) {
            for (const ir::Shape& shape : {ir::Shape{1, 32}, ir::Shape{17, 96}, ir::Shape{3, 5, 64}}) {
                const TensorDesc desc{format, shape};
                EXPECT_GE(type.bytes(desc), desc.bytes() + self.over_read) << desc.text();
                EXPECT_EQ(type.bytes(desc) % self.alignment, 0) << desc.text();
            }
        }
    }
}

TEST_P(DeviceContract, BuffersHaveTheirTensorsAndBeginWithZeros) {
    const std::vector<TensorDesc> descs{
        {DType::F32, {3, 5}}, {DType::Q8_0, {7, 33}}, {DType::I32, {1}}, {DType::F16, {2, 3, 9}}};
    for (Usage usage : {Usage::weights, Usage::state, Usage::compute}) {
        const auto buffer = rows().alloc(descs, usage);
        EXPECT_EQ(buffer->usage(), usage);
        EXPECT_EQ(&buffer->type(), &rows());
        EXPECT_TRUE(std::ranges::equal(buffer->tensors(), descs));
        int64_t least = 0;
        for (const TensorDesc& desc : descs) least += rows().bytes(desc);
        EXPECT_GE(buffer->stored_bytes(), least);
        for (int32_t i = 0; i < static_cast<int32_t>(descs.size()); ++i) {
            const Bytes bytes = read_now(stream(), whole(*buffer, i));
            EXPECT_EQ(bytes, Bytes(bytes.size(), std::byte{0}));
        }
    }
}

TEST_P(DeviceContract, MemoryIsZeroAgainAfterReuse) {
    for (int round = 0; round < 3; ++round) {
        const auto buffer = alloc_rows(device(), bytes_desc(4096));
        EXPECT_EQ(read_now(stream(), whole(*buffer, 0)), Bytes(4096, std::byte{0}));
        stream().write(whole(*buffer, 0), random_bytes(4096, 1));
        stream().synchronise();
    }
}

TEST_P(DeviceContract, BuffersMayBeEmpty) {
    const auto nothing = rows().alloc(std::span<const StoredTensor>(), Usage::compute);
    EXPECT_TRUE(nothing->tensors().empty());
    const std::vector<TensorDesc> descs{{DType::F32, {0, 4}}, {DType::F32, {2}}};
    const auto buffer = rows().alloc(descs, Usage::compute);
    stream().write(whole(*buffer, 0), {});
    EXPECT_TRUE(read_now(stream(), whole(*buffer, 0)).empty());
    EXPECT_EQ(read_now(stream(), whole(*buffer, 1)).size(), 8u);
}

TEST_P(DeviceContract, RefusesMoreThanThereIs) {
    const TensorDesc huge{DType::F32, {int64_t{1} << 57}};
    const std::string sentence = error_of([&] { (void)alloc_rows(device(), huge); });
    EXPECT_THAT(sentence, HasSubstr(device().describe().name));
    EXPECT_THAT(sentence, testing::ContainsRegex("5764607523034[0-9]+ bytes")) << "what is wanted";
    EXPECT_THAT(sentence, HasSubstr("free"));
    EXPECT_NE(alloc_rows(device(), bytes_desc(64)), nullptr) << "the device works on";
}

TEST_P(DeviceContract, ReadsWhatWasWritten) {
    for (int64_t size : {4, 8, 60, 64, 4096, 4100, 3 * (1 << 20) + 12, 40 * (1 << 20) + 4}) {
        const auto buffer = alloc_rows(device(), bytes_desc(size));
        const Bytes bytes = random_bytes(size, static_cast<uint64_t>(size));
        stream().write(whole(*buffer, 0), bytes);
        EXPECT_EQ(read_now(stream(), whole(*buffer, 0)), bytes) << size;
    }
}

TEST_P(DeviceContract, NeighboursInABufferAreLeftAlone) {
    const std::vector<TensorDesc> descs{{DType::F32, {3}}, {DType::F16, {5}}, {DType::F32, {7}}};
    const auto buffer = rows().alloc(descs, Usage::compute);
    stream().write(whole(*buffer, 1), random_bytes(10, 1));
    EXPECT_EQ(read_now(stream(), whole(*buffer, 0)), Bytes(12, std::byte{0}));
    EXPECT_EQ(read_now(stream(), whole(*buffer, 2)), Bytes(28, std::byte{0}));
}

// Pieces of every shape against a copy kept by the host; pieces larger than any staging among them.
TEST_P(DeviceContract, WritesAndReadsPieces) {
    struct Pieces {
        int64_t offset, row_bytes, rows, stride;
    };
    const int64_t size = 8 << 20;
    const auto buffer = alloc_rows(device(), bytes_desc(size));
    Bytes mirror(static_cast<size_t>(size), std::byte{0});
    uint64_t seed = 0;
    for (const Pieces& p :
         {Pieces{0, 1, 1, 0}, Pieces{3, 5, 7, 11}, Pieces{size - 1, 1, 1, 0}, Pieces{1, 2000000, 3, 2500000},
          Pieces{10, 1000, 3000, 1001}, Pieces{0, 0, 5, 8}, Pieces{8, 8, 0, 8}, Pieces{64, 64, 100, 64}}) {
        const Region region{buffer.get(), 0, p.offset, p.row_bytes, p.rows, p.stride};
        const Bytes bytes = random_bytes(region.bytes(), ++seed);
        stream().write(region, bytes);
        for (int64_t row = 0; row < p.rows; ++row)
            std::copy_n(bytes.begin() + row * p.row_bytes, p.row_bytes,
                        mirror.begin() + p.offset + row * p.stride);
        EXPECT_EQ(read_now(stream(), region), bytes) << "pieces " << seed;
        EXPECT_TRUE(read_now(stream(), whole(*buffer, 0)) == mirror) << "pieces " << seed;
    }
}

TEST_P(DeviceContract, RefusesBadRegionsAndWorksOn) {
    const auto buffer = alloc_rows(device(), bytes_desc(64));
    const auto other = alloc_rows(device(), bytes_desc(64));
    const Bytes before = random_bytes(64, 1);
    stream().write(whole(*buffer, 0), before);
    Bytes bytes(64);
    for (const Region& bad : bad_regions(*buffer)) {
        const auto size = static_cast<size_t>(std::clamp<int64_t>(bad.bytes(), 0, 64));
        const Region good{.buffer = other.get(), .row_bytes = static_cast<int64_t>(size)};
        const std::string sentences[] = {
            error_of([&] { stream().write(bad, std::span(bytes).first(size)); }),
            error_of([&] { stream().read(bad, std::span(bytes).first(size)); }),
            error_of([&] { stream().copy(bad, good); }),
            error_of([&] { stream().copy(good, bad); }),
        };
        for (const std::string& sentence : sentences)
            EXPECT_THAT(sentence, HasSubstr(device().describe().name)) << bad.offset << " " << bad.row_bytes;
    }
    EXPECT_EQ(read_now(stream(), whole(*buffer, 0)), before);
}

TEST_P(DeviceContract, RefusesOtherByteCounts) {
    const auto buffer = alloc_rows(device(), bytes_desc(64));
    Bytes bytes(60);
    EXPECT_NE(error_of([&] { stream().write(whole(*buffer, 0), bytes); }), "");
    EXPECT_NE(error_of([&] { stream().read(whole(*buffer, 0), bytes); }), "");
    const Region half{.buffer = buffer.get(), .row_bytes = 32};
    const Region third{.buffer = buffer.get(), .offset = 32, .row_bytes = 20};
    EXPECT_NE(error_of([&] { stream().copy(half, third); }), "");
    stream().synchronise();
}

TEST_P(DeviceContract, WriteHasConsumedItsBytes) {
    const auto buffer = alloc_rows(device(), bytes_desc(1 << 20));
    const Bytes first = random_bytes(1 << 20, 1);
    for (int round = 0; round < 40; ++round) {
        Bytes bytes = first;
        stream().write(whole(*buffer, 0), bytes);
        std::ranges::fill(bytes, std::byte{0xEE});
    }
    EXPECT_TRUE(read_now(stream(), whole(*buffer, 0)) == first);
}

TEST_P(DeviceContract, CopiesBetweenAndWithinBuffers) {
    const auto from = alloc_rows(device(), bytes_desc(120));
    const auto to = alloc_rows(device(), bytes_desc(120));
    const Bytes bytes = random_bytes(120, 1);
    stream().write(whole(*from, 0), bytes);
    stream().copy(whole(*from, 0), whole(*to, 0));
    EXPECT_EQ(read_now(stream(), whole(*to, 0)), bytes);
    stream().copy({.buffer = to.get(), .row_bytes = 24}, {.buffer = to.get(), .offset = 96, .row_bytes = 24});
    Bytes expected = bytes;
    std::copy_n(bytes.begin(), 24, expected.begin() + 96);
    EXPECT_EQ(read_now(stream(), whole(*to, 0)), expected);
}

TEST_P(DeviceContract, CopiesBetweenPiecesOfAnyShape) {
    const auto from = alloc_rows(device(), bytes_desc(120));
    const auto to = alloc_rows(device(), bytes_desc(120));
    stream().write(whole(*from, 0), random_bytes(120, 1));
    const Region source{.buffer = from.get(), .offset = 3, .row_bytes = 6, .rows = 10, .stride = 11};
    const Region target{.buffer = to.get(), .offset = 1, .row_bytes = 15, .rows = 4, .stride = 29};
    const Bytes pieces = read_now(stream(), source);
    stream().copy(source, target);
    EXPECT_EQ(read_now(stream(), target), pieces);
    Bytes rest = read_now(stream(), whole(*to, 0));
    for (int64_t row = 0; row < 4; ++row) std::fill_n(rest.begin() + 1 + row * 29, 15, std::byte{0});
    EXPECT_EQ(rest, Bytes(120, std::byte{0}));
}

TEST_P(DeviceContract, WrapsHostBytesOrDeclines) {
    const int64_t behind = 4096;
    alignas(64) static std::byte host[1024 + 4096];
    const Bytes bytes = random_bytes(1024, 1);
    std::ranges::copy(bytes, host);
    const auto buffer = rows().wrap(std::span(host).first(1024), bytes_desc(1024), behind);
    if (buffer == nullptr) return;
    EXPECT_EQ(buffer->stored_bytes(), 0);
    EXPECT_EQ(buffer->tensors().size(), 1u);
    EXPECT_EQ(read_now(stream(), whole(*buffer, 0)), bytes);
    EXPECT_EQ(rows().wrap(std::span(host).first(1024), bytes_desc(1024), rows().describe().over_read - 1),
              nullptr)
        << "nothing to read behind";
}

// Images of a tensor of type `desc` that has just been written, copied to where a file could have them.
struct KeptImages {
    explicit KeptImages(const Buffer& buffer) {
        for (const Image& image : buffer.images(1)) {
            std::byte* place = storage_[count_];
            std::ranges::copy(image, place);
            images_[count_++] = Image(place, image.size());
        }
    }
    std::span<const Image> images() const { return std::span(images_).first(count_); }

  private:
    alignas(4096) std::byte storage_[1][8192];
    Image images_[1];
    size_t count_ = 0;
};

TEST_P(DeviceContract, PackedBytesServeAgainOrAreNone) {
    const DeviceDescription& self = device().describe();
    const TensorDesc desc{DType::Q4_0, {17, 96}};
    const std::vector<TensorDesc> two{desc, desc};
    for (size_t i = 0; i < self.buffer_types.size(); ++i) {
        BufferType& type = device().buffer_type(static_cast<int>(i));
        const auto buffer = type.alloc(two, Usage::weights);
        for (int32_t tensor : {0, 1})
            stream().write(whole(*buffer, tensor), ir::test::make_tensor(desc, tensor + 1).bytes);
        stream().synchronise();
        const std::vector<ImageDescription> described = type.describe_images(desc);
        ASSERT_EQ(buffer->images(1).size(), described.size());
        EXPECT_EQ(type.wrap_images({}, desc), nullptr) << "nothing is no tensor";
        if (described.empty()) continue;
        EXPECT_NE(self.buffer_types[i].layout_id, kRowLayout) << "the file has plain rows already";
        ASSERT_EQ(described.size(), 1u);
        EXPECT_EQ(described[0].layout_id, self.buffer_types[i].layout_id);
        EXPECT_EQ(described[0].bytes, type.bytes(desc));
        const KeptImages kept(*buffer);
        EXPECT_EQ(static_cast<int64_t>(kept.images()[0].size()), described[0].bytes);
        EXPECT_FALSE(std::ranges::equal(buffer->images(0)[0], kept.images()[0])) << "of other values";
        const auto wrapped = type.wrap_images(kept.images(), desc);
        ASSERT_NE(wrapped, nullptr);
        EXPECT_EQ(wrapped->stored_bytes(), 0);
        EXPECT_EQ(wrapped->usage(), Usage::weights);
        EXPECT_EQ(&wrapped->type(), &type);
        ASSERT_EQ(wrapped->tensors().size(), 1u);
        EXPECT_EQ(wrapped->tensors()[0], desc);
        EXPECT_EQ(wrapped->images(0)[0].data(), kept.images()[0].data()) << "where they are";
        const Image shorter = kept.images()[0].first(kept.images()[0].size() - 1);
        EXPECT_EQ(type.wrap_images({&shorter, 1}, desc), nullptr);
        const Image shifted(kept.images()[0].data() + 1, kept.images()[0].size());
        EXPECT_EQ(type.wrap_images({&shifted, 1}, desc), nullptr);
    }
}

// In every layout but plain rows.
TEST_P(DeviceContract, PackedTensorsAreWrittenWholeAndNeverRead) {
    const DeviceDescription& self = device().describe();
    const TensorDesc desc{DType::Q4_0, {17, 96}};
    const Bytes bytes = ir::test::make_tensor(desc, 1).bytes;
    for (size_t i = 0; i < self.buffer_types.size(); ++i) {
        if (self.buffer_types[i].layout_id == kRowLayout) continue;
        BufferType& type = device().buffer_type(static_cast<int>(i));
        const auto buffer = type.alloc({&desc, 1}, Usage::weights);
        EXPECT_GE(buffer->stored_bytes(), type.bytes(desc));
        const auto plain = alloc_rows(device(), desc);
        const Region packed = whole(*buffer, 0);
        stream().write(packed, bytes);
        Region part = packed;
        part.row_bytes = desc.row_bytes();
        Bytes row(static_cast<size_t>(part.row_bytes));
        EXPECT_THAT(error_of([&] { stream().write(part, row); }), HasSubstr("whole"));
        Bytes all(bytes.size());
        EXPECT_THAT(error_of([&] { stream().read(packed, all); }), HasSubstr("packed"));
        EXPECT_THAT(error_of([&] { stream().copy(packed, whole(*plain, 0)); }), HasSubstr("packed"));
        EXPECT_THAT(error_of([&] { stream().copy(whole(*plain, 0), packed); }), HasSubstr("packed"));
        stream().synchronise();
    }
}

}  // namespace
}  // namespace plait::device::contract
