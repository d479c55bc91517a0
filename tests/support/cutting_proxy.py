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
        self._open = []
        self._muted = threading.Event()
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
            self._open += [client, server]
            threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not (answers and self._muted.is_set()):
                    sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()  # each is the source of one thread

    def mute(self):
        """Answers are lost from now on."""
        self._muted.set()

    def cut(self):
        """Ends all connections; new ones are whole."""
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()
        self._muted.clear()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self.cut()
