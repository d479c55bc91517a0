"""axiond as a child process, for tests that need the program.

A server that is started again wants its port again. The system gives none of those below its range to a connection or a
server that asks for any, so that a port from there stays free while nothing listens at it."""

import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import urllib.request

PATIENCE_SECONDS = 240   # after which a condition that never comes fails the test
ATTEMPTS = 20            # to find a port that nothing has


def eventually(condition):
    """Waits until the condition holds; what it returned, false if time ran out."""
    end, pause = time.monotonic() + PATIENCE_SECONDS, 0.002
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return False


def port_that_stays():
    """One at random that the system does not give away; 0 where it leaves none."""
    lowest = int(pathlib.Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    return random.SystemRandom().randrange(10_000, lowest) if lowest > 20_000 else 0


class AxiondProcess:
    """Serves once it is made, on the loopback address `address` with port `port`; `metrics_port` is that of the page, None without.

    `flags` come after --device=cpu. `host` and `port` are where it listens; port 0
    takes one that stays its own when it ends. `limits` are (resource, soft, hard) that it starts with. `pipe`
    is (read, write) of a pipe that takes its log in place of a file: it is read up to the line that says that it serves, and
    no further.
    """

    def __init__(self, program, *flags, host='127.0.0.1', port=0, metrics=True, limits=(), pipe=None):
        self._file = tempfile.NamedTemporaryFile()
        self._pipe = pipe
        for _ in range(ATTEMPTS if port == 0 else 1):
            found, said = self._start(program, flags, f'{host}:{port or port_that_stays()}', metrics, limits)
            if isinstance(found, re.Match) or 'Address already in use' not in said:
                break
        if not isinstance(found, re.Match):
            self.close()
            raise RuntimeError(f'the server does not serve: {said}')
        self.port, self.metrics_port = int(found['port']), int(found['metrics'].rpartition(':')[2]) if metrics else None
        self.address = f'127.0.0.1:{self.port}'
        self.metrics_url = f'http://127.0.0.1:{self.metrics_port}/metrics' if metrics else None

    def _start(self, program, flags, listen, metrics, limits):
        """The match of the line that it serves, if it does, and what it said if not."""
        # Set by a program: gRPC does not stand code of ours between fork and exec.
        names = {resource.RLIMIT_AS: 'as', resource.RLIMIT_FSIZE: 'fsize', resource.RLIMIT_NOFILE: 'nofile'}
        limited = [f'--{names[which]}={soft}:{hard}' for which, soft, hard in limits]
        command = [str(program), f'--listen={listen}', f'--metrics_listen={"127.0.0.1:0" if metrics else ""}', '--device=cpu']
        self._file.truncate(0)
        self._file.seek(0)
        self.process = subprocess.Popen([*(['prlimit', *limited] if limits else []), *command, *map(str, flags)],
                                        stderr=self._pipe[1] if self._pipe else self._file)
        read = self._pipe_reader() if self._pipe else self.log_text
        found = eventually(lambda: self._serving(read) or self.process.poll() is not None)
        return found, '' if isinstance(found, re.Match) else read()

    @staticmethod
    def _serving(read):
        said = re.sub('[",:]*([a-z]+)":"?', r' \1=', read())   # lines of JSON as if they were text
        return re.search(r'event=serving"?,? listen=\S+:(?P<port>\d+)"?,? metrics=(?P<metrics>[^\s"]*)["\s]', said)

    def _pipe_reader(self):
        """Of all that came through the pipe so far, up to a line's end and a byte at a time: the rest stays in it."""
        text = b''
        os.set_blocking(self._pipe[0], False)

        def read():
            nonlocal text
            while b'event=serving' not in text or not text.endswith(b'\n'):
                try:
                    byte = os.read(self._pipe[0], 1)
                except BlockingIOError:
                    break
                if not byte:
                    break
                text += byte
            return text.decode()

        return read

    def log_text(self):
        return pathlib.Path(self._file.name).read_text(errors='backslashreplace')

    def metrics(self):
        with urllib.request.urlopen(self.metrics_url, timeout=PATIENCE_SECONDS) as page:
            return page.read().decode()

    def metric(self, name, absent=None):
        """Its value; `absent` if it is not on the page, an error without that."""
        found = re.search(rf'^{re.escape(name)} (\S+)$', self.metrics(), re.MULTILINE)
        if found is None and absent is None:
            raise AssertionError(f'{name} is not on the page')
        return float(found.group(1)) if found else absent

    def await_checkpoints(self, passes=3):
        """Waits until so many passes over all batches, whole, without busy ones, or failed, have ended from now on.

        The first may have begun before, and one that finds the device busy for a second leaves a batch to the next.
        """
        def ended():
            return [self.log_text().count('event=checkpoint_lacks'),
                    *(self.metric(f'axion_checkpoint_{name}') for name in ('timestamp_seconds', 'failures_total'))]

        for _ in range(passes):
            before = ended()
            if not eventually(lambda before=before: ended() != before):
                raise AssertionError(f'no checkpoint is made:\n{self.log_text()}')

    def processor_seconds(self):
        """Of all its threads so far, in ticks of the kernel's clock."""
        fields = pathlib.Path(f'/proc/{self.process.pid}/stat').read_text().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def stop(self):
        """Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self):
        """As a machine does that fails."""
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
