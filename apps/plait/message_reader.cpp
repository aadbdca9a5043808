#include "message_reader.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <system_error>

#include "plait/base/error.h"

namespace plait::app {
namespace {

constexpr int kHistoryLines = 1000;
// A Ctrl-D typed while no line was being edited (during an answer) arrives as a zero: the kernel had taken it
// for the end of a line by then.
constexpr char kCtrlD = 4;
constexpr int kPasteGapMs = 20;  // what follows a line end so soon was not typed

[[noreturn]] void fail_reading(int error) {
    throw Error("cannot read standard input: " + std::generic_category().message(error));
}

bool more_is_waiting() {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return ::poll(&input, 1, kPasteGapMs) > 0 && (input.revents & POLLIN) != 0;
}

// While it lives, Ctrl-C ends a wait for input instead of the process. The signal may reach any thread, and
// just before a read as well as in it; a byte in a pipe is seen whenever it comes.
class CtrlC {
  public:
    CtrlC() {
        if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) fail_reading(errno);
        struct sigaction action = {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(SIGINT, &action, &previous_);
    }
    ~CtrlC() {
        sigaction(SIGINT, &previous_, nullptr);
        ::close(pipe_[0]);
        ::close(pipe_[1]);
    }
    CtrlC(const CtrlC&) = delete;
    CtrlC& operator=(const CtrlC&) = delete;

    // Whether it was typed since the last call.
    static bool take() {
        char bytes[64];
        return ::read(pipe_[0], bytes, sizeof(bytes)) > 0;
    }

    // False for Ctrl-C, which can then be taken; what was typed before it comes first.
    static bool wait_for_input() {
        pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                        {.fd = pipe_[0], .events = POLLIN, .revents = 0}};
        while (::poll(fds, 2, -1) < 0) {
            if (errno != EINTR) fail_reading(errno);
        }
        return fds[0].revents != 0;
    }

  private:
    static void note(int) {
        const int error = errno;
        // A full pipe has been noted already.
        [[maybe_unused]] const ssize_t written = ::write(pipe_[1], "c", 1);
        errno = error;
    }

    static inline int pipe_[2] = {-1, -1};
    struct sigaction previous_ = {};
};

// libedit's own reader would go on waiting after Ctrl-C. Gives one character; 0 at the end, -1 when
// interrupted.
int read_character(EditLine*, wchar_t* character) {
    std::mbstate_t state = {};
    while (true) {
        if (!CtrlC::wait_for_input()) return -1;
        char byte = 0;
        const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
        if (count == 0) return 0;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (byte == 0) byte = kCtrlD;
        const size_t length = std::mbrtowc(character, &byte, 1, &state);
        if (length == static_cast<size_t>(-2)) continue;  // its other bytes follow
        if (length == static_cast<size_t>(-1)) *character = L'\uFFFD';
        return 1;
    }
}

// Characters that people type are UTF-8, even where nobody set a locale.
void use_utf8_locale() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

class MessageReader::Lines {
  public:
    virtual ~Lines() = default;
    // One line without its end; `first` of a message. Nothing at the end.
    virtual std::optional<std::string> read(bool first) = 0;
    // Whether what comes next was there when the last line ended.
    virtual bool goes_on() const = 0;
    virtual void remember(const std::string& message) = 0;
    virtual bool is_terminal() const = 0;
};

class MessageReader::PlainLines : public Lines {
  public:
    std::optional<std::string> read(bool) override {
        std::string line;
        for (int c; (c = std::getchar()) != EOF;) {
            if (c == '\n') return line;
            line += static_cast<char>(c);
        }
        if (std::ferror(stdin) != 0) fail_reading(errno);
        return line.empty() ? std::nullopt : std::optional(line);
    }
    bool goes_on() const override { return false; }
    void remember(const std::string&) override {}
    bool is_terminal() const override { return false; }
};

class MessageReader::EditedLines : public Lines {
  public:
    EditedLines() {
        use_utf8_locale();
        history_ = history_init();
        // The prompt and what is typed are no results: they go to stderr.
        editor_ = el_init("plait", stdin, stderr, stderr);
        if (history_ == nullptr || editor_ == nullptr)
            throw Error("cannot set up the terminal for editing lines");
        HistEvent event = {};
        history(history_, &event, H_SETSIZE, kHistoryLines);
        history(history_, &event, H_SETUNIQUE, 1);
        el_set(editor_, EL_PROMPT, prompt);
        el_set(editor_, EL_EDITOR, "emacs");
        el_set(editor_, EL_HIST, history, history_);
        el_set(editor_, EL_GETCFN, read_character);
        el_set(editor_, EL_CLIENTDATA, this);
    }
    ~EditedLines() override {
        el_end(editor_);
        history_end(history_);
    }

    std::optional<std::string> read(bool first) override {
        first_ = first;
        CtrlC::take();  // typed when nobody waited: it is about nothing
        while (true) {
            int count = 0;
            const char* line = el_gets(editor_, &count);
            if (line != nullptr && count > 0)
                return without_end(std::string(line, static_cast<size_t>(count)));
            if (!CtrlC::take() || !drop_line()) return at_end();
        }
    }
    bool goes_on() const override { return more_is_waiting(); }
    void remember(const std::string& message) override {
        HistEvent event = {};
        if (message.find_first_not_of(" \n") != std::string::npos)
            history(history_, &event, H_ENTER, message.c_str());
    }
    bool is_terminal() const override { return true; }

  private:
    static char* prompt(EditLine* editor) {
        EditedLines* self = nullptr;
        el_get(editor, EL_CLIENTDATA, &self);
        static char first[] = "> ";
        static char more[] = ". ";
        return self->first_ ? first : more;
    }

    static std::string without_end(std::string line) {
        if (line.ends_with('\n')) line.pop_back();
        return line;
    }

    // After Ctrl-C: whether there was something to drop.
    bool drop_line() {
        const LineInfo* line = el_line(editor_);
        const bool had_text = line->lastchar != line->buffer;
        std::fputc('\n', stderr);
        el_reset(editor_);
        return had_text;
    }

    static std::optional<std::string> at_end() {
        std::fputc('\n', stderr);
        return std::nullopt;
    }

    const CtrlC ctrl_c_;
    History* history_ = nullptr;
    EditLine* editor_ = nullptr;
    bool first_ = true;
};

MessageReader::MessageReader() {
    if (::isatty(STDIN_FILENO) == 1) {
        lines_ = std::make_unique<EditedLines>();
    } else {
        lines_ = std::make_unique<PlainLines>();
    }
}

MessageReader::~MessageReader() = default;

bool MessageReader::at_terminal() const { return lines_->is_terminal(); }

std::optional<std::string> MessageReader::next() {
    std::string message;
    bool goes_on = true;
    for (bool first = true; goes_on; first = false) {
        const auto line = lines_->read(first);
        if (!line && first) return std::nullopt;
        if (!line) break;
        if (!first) message += '\n';
        message += *line;
        const bool continued = message.ends_with('\\');
        if (continued) message.pop_back();
        goes_on = continued || lines_->goes_on();
    }
    lines_->remember(message);
    return message;
}

}  // namespace plait::app
