#include "plait/gguf/not_gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/base/error.h"
#include "plait/gguf/file.h"

namespace plait::gguf {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string judged(const std::string& text) { return not_gguf(std::as_bytes(std::span(text))); }

TEST(NotGguf, IsWhatOpeningSays) {
    EXPECT_THAT([] { File::parse({}, "m.gguf"); },
                ThrowsMessage<Error>("m.gguf: the file is empty; download the file again"));
    EXPECT_THAT(
        [] { File::parse(std::as_bytes(std::span("GGUE\x03\0\0\0", 8)), "m.gguf"); },
        ThrowsMessage<Error>("m.gguf: this is not a GGUF file: it starts with 'GGUE', expected 'GGUF'"));
}

TEST(NotGguf, PagesAndMessages) {
    for (const char* page : {"<!DOCTYPE html><html>", "\n <!DOCTYPE html>", "<html>"})
        EXPECT_THAT(judged(page), AllOf(HasSubstr("a web page"), HasSubstr("download the file again")));
    EXPECT_THAT(judged("Entry not found"), HasSubstr("text, perhaps a server's answer, 'Entry not found'"));
    EXPECT_THAT(judged("{\"error\": \"no such model\"}"), HasSubstr("'{\"error\": \"no such model\"}'"));
    EXPECT_THAT(judged("Ein Modell gibt es hier nicht \xff"), HasSubstr("it starts with 'Ein '"));
}

TEST(NotGguf, LongTextIsCut) { EXPECT_LT(judged(std::string(1000, 'a')).size(), 250u); }

TEST(NotGguf, Pointers) {
    EXPECT_THAT(judged("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                AllOf(HasSubstr("the pointer that Git LFS leaves"), HasSubstr("git lfs pull")));
}

TEST(NotGguf, OtherModelFiles) {
    constexpr const char* kConvert = "convert the model to GGUF";
    EXPECT_THAT(judged("PK\x03\x04 and so on"), AllOf(HasSubstr("PyTorch"), HasSubstr(kConvert)));
    for (const char* pickle : {"\x80\x02}q", "\x80\x03}q", "\x80\x04}q"})
        EXPECT_THAT(judged(pickle), AllOf(HasSubstr("pickled PyTorch"), HasSubstr(kConvert)));
    for (const char* old : {"lmgg", "fmgg", "tjgg", "algg"})
        EXPECT_THAT(judged(old + "\x01\0\0\0"s), AllOf(HasSubstr("before GGUF"), HasSubstr(kConvert)));
    EXPECT_THAT(judged("\x02\0\0\0\0\0\0\0{}"s), AllOf(HasSubstr("a safetensors file"), HasSubstr(kConvert)));
    EXPECT_THAT(judged("\x03\0\0\0\0\0\0\0{}"s), HasSubstr("it starts with"));  // the object does not fit
    EXPECT_THAT(judged("\x02\0\0\0\0\0\0\0"s), HasSubstr("it starts with"));
}

TEST(NotGguf, Compressed) {
    EXPECT_THAT(judged("\x1f\x8b\x08"), AllOf(HasSubstr("gzip"), HasSubstr("unpack")));
    EXPECT_THAT(judged("\x28\xb5\x2f\xfd"), HasSubstr("Zstandard"));
    EXPECT_THAT(judged("\xfd"
                       "7zXZ"),
                HasSubstr("xz"));
    EXPECT_THAT(judged("7z\xbc\xaf\x27\x1c"), HasSubstr("7z"));
}

TEST(NotGguf, UnfinishedDownloads) {
    EXPECT_THAT(judged(std::string(4096, '\0')), AllOf(HasSubstr("never written"), HasSubstr("again")));
}

TEST(NotGguf, NothingKnown) {
    EXPECT_EQ(judged("GG"), "this is not a GGUF file: it starts with 'GG', expected 'GGUF'");
    EXPECT_EQ(judged("\x7f"
                     "ELF\x02"),
              "this is not a GGUF file: it starts with '\\x7fELF', expected 'GGUF'");
}

}  // namespace
}  // namespace plait::gguf
