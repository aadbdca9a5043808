#!/usr/bin/env python3
"""`plait chat`: what is a message, what the model reads, what is told; at a pipe and at a terminal.

usage: cli_chat_test.py PLAIT [unittest's arguments]
"""
import os
import pty
import re
import select
import signal
import subprocess
import time

from cli_support import CliTest, command_line, DONE, main, MODEL, WORK

TEMPLATE = WORK / "chat.jinja"
TEXT = """{% for m in messages %}[{{ m.role }}]{{ m.content }}
{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"""
SAMPLING = ("--temp", 0, "-n", 6)


def chat_flags(*flags):
    TEMPLATE.write_text(TEXT)
    return ("chat", "-m", MODEL, "--chat-template", TEMPLATE, *SAMPLING, *flags)


def told_tokens(result):
    """Prompt tokens read for each answer."""
    return [int(n) for n in re.findall(r"prompt (\d+) tokens", result.err)]


class ChatTest(CliTest):
    def answers(self, text, *flags):
        return self.done(*chat_flags(*flags), stdin=text).out

    def continued(self, prompt):
        return self.done("run", "-m", MODEL, *SAMPLING, "-p", prompt).out

    def test_each_line_is_a_message(self):
        self.assertEqual(self.answers(""), b"")
        self.assertEqual(self.answers("\n  \n"), b"", "empty lines are none")
        one = self.answers("the moon\n")
        self.assertEqual(one, self.continued("[user]the moon\n[assistant]"))
        self.assertEqual(self.answers("the moon"), one, "a last line may lack its end")
        self.assertTrue(self.answers("the moon\nand the sun\n").startswith(one))

    def test_a_backslash_lets_a_message_go_on(self):
        two = self.answers("the moon\\\nand the sun\n")
        self.assertEqual(two, self.continued("[user]the moon\nand the sun\n[assistant]"))
        self.assertEqual(self.answers("the moon\\"), self.continued("[user]the moon\n[assistant]"))

    def test_the_system_prompt_comes_first(self):
        self.assertEqual(self.answers("x\n", "--system", "be brief"),
                         self.continued("[system]be brief\n[user]x\n[assistant]"))

    def test_only_what_is_new_is_read(self):
        lines = "the moon\nthe moon\nthe moon\n"
        kept = self.done(*chat_flags("-v"), stdin=lines)
        anew = self.done(*chat_flags("-v", "--no-kv-cache"), stdin=lines)
        self.assertEqual(kept.out, anew.out)
        first, second, third = told_tokens(kept)
        self.assertLessEqual(second, first + 8)
        self.assertLessEqual(third, first + 8)

    def test_clear_and_exit(self):
        one = self.answers("the moon\n")
        self.assertEqual(self.answers("the moon\n/clear\nthe moon\n"), one + one)
        self.assertEqual(self.answers("the moon\n/exit\nthe moon\n"), one)
        self.assertEqual(self.answers("/help\n"), b"")
        self.assertIn("/clear", self.done(*chat_flags(), stdin="/help\n").err)
        self.assertIn("/clear", self.done("chat", "--help").text)
        self.assertNotEqual(self.answers("/unknown\n"), b"", "is a message")

    def test_context(self):
        full = self.fails(["-c", "/clear", "context of 16"], *chat_flags("-c", 16), stdin="word " * 50)
        self.assertEqual(full.out, b"")
        flags = chat_flags("-c", 30, "-n", -1, "--temp", 5, "--top-k", 0)
        cut = [self.done(*flags, "--seed", seed, stdin="x\n").err for seed in range(8)]
        full = [err for err in cut if "is full" in err]
        self.assertNotEqual(full, [])
        self.assertIn("/clear", full[0])

    def test_templates(self):
        self.fails("no chat template; give one with --chat-template FILE", "chat", "-m", MODEL)
        flags = chat_flags()
        TEMPLATE.write_text("{% if %}")
        self.fails(["cannot be read: template line 1, column 7", "--chat-template"], *flags)
        TEMPLATE.write_text("{% if messages[0].role == 'system' %}{{ raise_exception('No system, please') }}{% endif %}x")
        self.fails("the template refuses: No system, please", *flags, "--system", "x")
        TEMPLATE.write_text("{% if messages|length > 1 %}{{ raise_exception('Once only') }}{% endif %}x")
        once = self.fails("the template refuses: Once only", *flags, stdin="a\nb\n")
        self.assertNotEqual(once.out, b"")
        self.fails("No such file", "chat", "-m", MODEL, "--chat-template", WORK / "missing.jinja")

    def test_results_on_stdout_and_the_rest_on_stderr(self):
        result = self.done(*chat_flags("--temp", 1, "--seed", 5), stdin="x\n")
        self.assertIn("seed 5", result.err)
        self.assertNotIn("> ", result.err, "no prompt where nobody types")
        self.assertEqual(self.done(*chat_flags("-q"), stdin="x\n").err, "")
        self.misused("--temp", *chat_flags("--temp", "hot"))


class Terminal:
    """`plait chat` with a terminal of its own."""

    def __init__(self, *flags):
        self.fd, inner = pty.openpty()
        self.process = subprocess.Popen(
            command_line(chat_flags(*flags)), stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
            env={**os.environ, "TERM": "xterm"}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        os.close(inner)
        self.shown = b""

    def until(self, pattern, seconds=20):
        """Reads until the pattern stands in what was shown since the last call; that."""
        deadline = time.monotonic() + seconds
        while not (match := re.search(pattern, self.shown)):
            if not self.read(max(0, deadline - time.monotonic())):
                raise AssertionError(f"no {pattern} in {self.shown}")
        result, self.shown = self.shown[: match.end()], self.shown[match.end():]
        return result

    def read(self, seconds):
        """Adds to what was shown; False if there is nothing in this time, or nobody on the other side."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            self.shown += os.read(self.fd, 65536)
        except OSError:
            return False
        return True

    def type(self, text):
        os.write(self.fd, text)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def ended(self, seconds=20):
        """The exit status. Goes on reading, as a terminal does: whoever writes to it may wait for that."""
        deadline = time.monotonic() + seconds
        while (status := self.process.poll()) is None and time.monotonic() < deadline:
            self.read(0.05)
        if status is None:
            raise AssertionError(f"still running behind {self.shown}")
        os.close(self.fd)
        return status


class TerminalTest(CliTest):
    def start(self, *flags):
        terminal = Terminal(*flags)
        self.addCleanup(terminal.process.kill)
        terminal.until(rb"> ")
        return terminal

    def test_a_conversation(self):
        terminal = self.start("-v")
        terminal.type(b"the moon\r")
        terminal.until(rb"prompt \d+ tokens")
        terminal.until(rb"> ")
        terminal.type(b"\x04")
        self.assertEqual(terminal.ended(), DONE)

    def test_what_is_pasted_is_one_message(self):
        terminal = self.start("-v")
        terminal.type("the mo\u00f6n\rand\rthe sun\r".encode())
        terminal.until(rb"prompt \d+ tokens")
        terminal.until(rb"> ")
        terminal.type(b"/exit\r")
        self.assertEqual(terminal.ended(), DONE)
        self.assertNotIn(b"prompt ", terminal.shown, "there was one answer")

    def test_ctrl_c_stops_an_answer(self):
        terminal = self.start("-v", "-n", -1, "-c", 100000)
        terminal.type(b"x\r")
        terminal.until(rb"x\r\n[\s\S]{40}")
        terminal.interrupt()
        terminal.until(rb"(interrupted|end token)")
        terminal.until(rb"> ")
        terminal.type(b"/exit\r")
        self.assertEqual(terminal.ended(), DONE)

    def test_ctrl_c_drops_a_line_and_ends_at_an_empty_one(self):
        terminal = self.start()
        terminal.type(b"not this")
        terminal.until(rb"not this")
        terminal.interrupt()
        terminal.until(rb"> ")
        self.assertIsNone(terminal.process.poll())
        terminal.interrupt()
        self.assertEqual(terminal.ended(), DONE)

    def test_a_refused_message_does_not_end_it(self):
        terminal = self.start("-c", 16)
        terminal.type(b"word " * 50 + b"\r")
        terminal.until(rb"/clear")
        terminal.until(rb"> ")
        terminal.type(b"\x04")
        self.assertEqual(terminal.ended(), DONE)


if __name__ == "__main__":
    main()
