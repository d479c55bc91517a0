"""A proxy on loopback that can lose what a server answers, and cut connections between a request and its answer."""

import contextlib
import socket
import threading


class CuttingProxy:
    """Passes bytes to a server, and cuts a connection when told: what the server answers from then on is lost."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.address = f'127.0.0.1:{self._listener.getsockname()[1]}'
        self._lock = threading.Lock()
        self._open = []  # pairs of ends
        self._muted = set()  # the servers' ends of them
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(('127.0.0.1', self._target))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open.append((client, server))
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not (answers and source in self._muted):
                    sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()  # each is the source of one thread

    def mute(self):
        """Answers over the connections that are open are lost from now on."""
        with self._lock:
            self._muted.update(server for _, server in self._open)

    def cut(self):
        """Ends all connections that are open; one that comes while it does is whole."""
        with self._lock:
            ended, self._open = self._open, []
        for pair in ended:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self.cut()
