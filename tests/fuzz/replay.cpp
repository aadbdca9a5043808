// Runs a fuzz target over the files of a folder, without libFuzzer: replay FOLDER. Fails when the folder
// holds no file, when a file takes more than a second of processor time, and of course when the target does.

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr double kMostSeconds = 1.0;

std::vector<char> read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

double processor_seconds(const std::vector<char>& input) {
    const std::clock_t start = std::clock();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    const std::set<std::filesystem::path> files{std::filesystem::directory_iterator(argv[1]), {}};
    int slow = 0;
    for (const auto& path : files) {
        std::fprintf(stderr, "%s\n",
                     path.filename().c_str());  // before it runs: the last one named is at fault
        const double seconds = processor_seconds(read(path));
        if (seconds <= kMostSeconds) continue;
        std::fprintf(stderr, "took %.1f s of processor time, expected at most %.1f\n", seconds, kMostSeconds);
        ++slow;
    }
    std::fprintf(stderr, "%zu files, %d of them too slow\n", files.size(), slow);
    return files.empty() || slow > 0 ? 1 : 0;
}
