"""What the tests of access share: an axiond with flags of its own, certificates made for the test, and token files."""

import contextlib
import hashlib
import os
import pathlib
import resource
import secrets
import socket
import subprocess
import sys
import tempfile

import grpc

from axion.v1 import simulation_pb2 as sim
from axion.v1 import simulation_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'support'))
from axiond_process import PATIENCE_SECONDS, AxiondProcess, eventually  # noqa: E402, F401


def openssl(*arguments):
    subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """A certificate authority in a folder of its own, which issues certificates for 127.0.0.1."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.certificate, self.key = self.folder / f'{name}.pem', self.folder / f'{name}.key'
        openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', 2,
                '-subj', f'/CN={name}', '-keyout', self.key, '-out', self.certificate)

    def issue(self, name, days=1, hosts='IP:127.0.0.1,DNS:localhost'):
        """Paths of a certificate and its key. Negative days: expired."""
        certificate, key, request = (self.folder / f'{name}.{end}' for end in ('pem', 'key', 'csr'))
        extensions = self.folder / f'{name}.ext'
        extensions.write_text(f'subjectAltName={hosts}\n')
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', f'/CN={name}',
                '-keyout', key, '-out', request)
        if days > 0:
            validity = ['-days', days]
            openssl('x509', '-req', '-in', request, '-CA', self.certificate, '-CAkey', self.key, '-CAcreateserial',
                    '-extfile', extensions, '-out', certificate, *validity)
        else:
            self._issue_expired(request, extensions, certificate)
        return certificate, key

    def _issue_expired(self, request, extensions, certificate):
        """x509 takes no date in the past; ca does."""
        database, config = self.folder / 'index.txt', self.folder / 'ca.cnf'
        database.write_text('')
        config.write_text(f'[ca]\ndefault_ca=this\n[this]\ndatabase={database}\nnew_certs_dir={self.folder}\nrand_serial=yes\n'
                          'default_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n')
        openssl('ca', '-batch', '-config', config, '-cert', self.certificate, '-keyfile', self.key, '-in', request,
                '-extfile', extensions, '-startdate', '20200101000000Z', '-enddate', '20200102000000Z', '-out', certificate)


def replace(path, text):
    """A new version of a file in the place of the old, in one moment."""
    fresh = path.with_suffix('.new')
    fresh.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.replace(fresh, path)


def new_token():
    """A token, and its hash as the file of tokens has it."""
    token = 'axion_' + secrets.token_urlsafe(32)
    return token, 'sha256:' + hashlib.sha256(token.encode()).hexdigest()


def bearer(token):
    return [('authorization', f'Bearer {token}')]


def run_briefly(binary, *flags):
    """Starts an axiond that is expected to end at once. Its exit code and what it wrote."""
    done = subprocess.run([str(binary / 'axiond'), '--device=cpu', '--threads=1', '--metrics_listen=', *map(str, flags)],
                          capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    return done.returncode, done.stderr


class Server(AxiondProcess):
    """An axiond of one thread with a metrics page."""

    def __init__(self, binary, *flags, max_file_bytes=None, limits=(), **keywords):
        limits = [*limits, *([(resource.RLIMIT_FSIZE, max_file_bytes, max_file_bytes)] if max_file_bytes else [])]
        super().__init__(binary / 'axiond', '--threads=1', *flags, limits=limits, **keywords)

    def channel(self, authority=None, certificate=None, key=None):
        """A connection of its own; with an authority over TLS."""
        options = [('grpc.use_local_subchannel_pool', 1)]
        if authority is None:
            return grpc.insecure_channel(self.address, options)
        read = (lambda path: path.read_bytes() if path else None)
        return grpc.secure_channel(self.address, grpc.ssl_channel_credentials(
            read(authority), read(key), read(certificate)), options)

    def stub(self, *credentials):
        return simulation_pb2_grpc.SimulationStub(self.channel(*credentials))

    def reloads(self, what, result='loaded'):
        return self.metric(f'axion_credentials_reloads_total{{result="{result}",what="{what}"}}', absent=0)


@contextlib.contextmanager
def proxy(folder, server):
    """The port of a proxy as deploy/haproxy.cfg has it before the server at that address, and the authority of its certificate."""
    authority = Authority(folder, 'authority')
    certificate, key = authority.issue('proxy')
    both = folder / 'both.pem'
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    settings = {'AXION_PROXY_LISTEN': f'127.0.0.1:{port}', 'AXION_PROXY_CERTIFICATE': str(both), 'AXION_PROXY_SERVER': server}
    config = pathlib.Path(__file__).resolve().parents[2] / 'deploy/haproxy.cfg'

    def listens():
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port)):
            return True
        return process.poll() is not None

    with subprocess.Popen(['haproxy', '-q', '-f', str(config)], env=os.environ | settings) as process:
        try:
            if not eventually(listens) or process.poll() is not None:
                raise RuntimeError('the proxy does not serve')
            yield port, authority.certificate
        finally:
            process.terminate()


def outcome(call, *arguments, **keywords):
    """The code and text of a call: (OK, '') where it succeeds."""
    try:
        call(*arguments, timeout=PATIENCE_SECONDS, **keywords)
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ''


def info(stub, **keywords):
    """The outcome of the simplest call that wants to be let in."""
    return outcome(stub.GetServerInfo, sim.GetServerInfoRequest(), **keywords)


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)
