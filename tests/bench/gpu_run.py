"""How gpu.py runs programs and says what came of them: each until a deadline, and without a GPU each in small."""

import os
import pathlib
import signal
import subprocess
import sys
import time

PROGRAMS = ['axion-bench', 'axion-agreement']  # of this folder, those that gpu.py measures with
NOT_IMPORTED = ('import:', 'compile:')  # how programs of this folder say that a model is not theirs
SMALL = {'--worlds': 2, '--steps': 5, '--steps_per_launch': 5, '--warmup_steps': 5, '--world_steps': 20}  # at most, of a dry run


class DeadlineError(Exception):
    """No time is left for the rest of a part."""


class Report:
    """Lines for the screen and, each as soon as it is known, for the file."""

    def __init__(self, path):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open('w', encoding='utf-8') if path else None

    def say(self, line=''):
        if self.file:
            self.file.write(line + '\n')
            self.file.flush()
        print(line, flush=True)


class Runner:
    """Runs programs, each in a process group of its own, none beyond the deadline."""

    def __init__(self, deadline):
        self.end = time.monotonic() + deadline if deadline else float('inf')
        self.process = None
        self.starting = self.told_to_end = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        """Ends the call through run(), which takes its program with it: once it knows which that is."""
        self.told_to_end = True
        if not self.starting:
            sys.exit(143)

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def run(self, command, timeout=None, **more):
        """Completed process, its output as text; return code 124 where it ran out of time, 127 where there is no such program.
        DeadlineError where it was the deadline that it ran into. `more` goes to the process as it is, such as its environment."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise DeadlineError
        limit = min(left, timeout or left)
        self.starting = True
        try:
            self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                            start_new_session=True, **more)
        except OSError as error:
            return subprocess.CompletedProcess(command, 127, '', f'{command[0]}: {error.strerror}')
        finally:
            self.starting = False
        try:
            if self.told_to_end:
                sys.exit(143)
            out, err = self.process.communicate(timeout=None if limit == float('inf') else limit)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            if limit == left:
                raise DeadlineError from None
            return subprocess.CompletedProcess(command, 124, out, f'{err}\nno end within {limit:g} s')
        except BaseException:
            self.kill()
            raise
        return subprocess.CompletedProcess(command, self.process.returncode, out, err)

    def measure(self, command, timeout=None):
        """As run() does, a command that is there for its figures or bits."""
        return self.run(command, timeout)


def shown(command):
    return ' '.join(map(str, command))


def in_small(command, emulated):
    """What a dry run runs in place of a command for a GPU: few steps of few worlds, on the emulated GPU or on the CPU."""
    small, option, most = [f'{command[0]}-emulated' if emulated else str(command[0])], '', None
    for word in map(str, command[1:]):
        if word.startswith('--'):
            option, most = word, SMALL.get(word)
        elif most is not None:
            word = str(min(int(word), most))
        elif option in ('--device', '--right') and word.startswith('cuda') and not emulated:
            word = 'cpu'
        small.append(word)
    return small


class DryRunner(Runner):
    """Says each command as a GPU would get it, and runs it in small; what comes to the same in small is run once."""

    def __init__(self, options, report):
        super().__init__(options.deadline)
        self.options, self.report, self.answers = options, report, {}

    def measure(self, command, timeout=None):
        self.report.say(f'    $ {shown(command)}')
        small = tuple(in_small(command, self.options.emulated and pathlib.Path(command[0]).name in PROGRAMS))
        if small not in self.answers:
            self.answers[small] = self.run(small, timeout)
        return self.answers[small]


def last_line(done):
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1].strip()[:200] if lines else f'exit code {done.returncode}'


def not_imported(done):
    return done.returncode != 0 and last_line(done).startswith(NOT_IMPORTED)


def bench_command(options, model, worlds, steps, steps_per_launch, *more):
    return [options.bin / 'axion-bench', '--json', '--model', model, '--device', options.device, '--worlds', worlds, '--steps', steps,
            '--steps_per_launch', steps_per_launch, '--warmup_steps', options.warmup_steps, *more]
