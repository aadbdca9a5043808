// A model in several files is the same model.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "plait/gguf/split_model_for_test.h"
#include "support.h"

namespace plait::system_test {
namespace {

TEST(Split, LogitsAreThoseOfTheWholeModel) {
    const auto whole = synth_model("llama", "tiny", "Q4_0");
    const auto folder =
        std::filesystem::temp_directory_path() / ("plait-test-split-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const auto paths = gguf::test::write_parts(gguf::File::open(whole), folder, "model", 3);
    const std::vector<int32_t> ids = random_ids(20, 256, 1);
    for (const bool use_mapping : {true, false})
        for (const char* devices : {"cpu", "sim"}) {
            const auto logits_of = [&](const std::filesystem::path& model) {
                engine::EngineOptions options = options_for(model, 64);
                options.use_mapping = use_mapping;
                options.devices = devices;
                return all_logits(options, ids);
            };
            const std::vector<float> expected = logits_of(whole);
            ASSERT_FALSE(expected.empty());
            for (const size_t asked : {1, 2})
                EXPECT_EQ(logits_of(paths[asked]), expected) << devices << asked;
        }
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plait::system_test
