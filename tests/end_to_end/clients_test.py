#!/usr/bin/env python3
"""The Python package and the tool (which is the C++ library) against a real axiond that asks for certificates and tokens: by argument and
by environment, and the words where something is wrong.

Usage: clients_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion; openssl makes the certificates.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import access_case as case
import axion

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).resolve()


def tool(*arguments, **environment):
    """Exit code, stdout, stderr."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith('AXION_')}
    done = subprocess.run([str(BIN / 'axion'), *map(str, arguments)], capture_output=True, text=True,
                          timeout=case.PATIENCE_SECONDS, env={**clean, **{name: str(value) for name, value in environment.items()}})
    return done.returncode, done.stdout, done.stderr


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(case.scratch())
        cls.authority, cls.stranger = case.Authority(cls.folder, 'authority'), case.Authority(cls.folder, 'stranger')
        certificate, key = cls.authority.issue('server')
        cls.member = cls.authority.issue('member')
        code, out, _ = tool('token', 'new', '--tenant=red', '--json')
        assert code == 0
        made = json.loads(out)
        cls.token = made['token']
        tokens = cls.folder / 'tokens'
        tokens.write_text(made['line'] + '\n')
        cls.server = cls.enterClassContext(case.Server(
            BIN, f'--tls_cert={certificate}', f'--tls_key={key}', f'--tls_client_ca={cls.authority.certificate}',
            f'--token_file={tokens}'))
        cls.arguments = {'tls_ca': cls.authority.certificate, 'tls_cert': cls.member[0], 'tls_key': cls.member[1], 'token': cls.token}
        cls.environment = {f'AXION_{name.upper()}': str(value) for name, value in cls.arguments.items()}

    def flags(self, **changed):
        return [f'--{name}={value}' for name, value in {**self.arguments, **changed}.items() if value]

    def use(self, client):
        """Every kind of call: unary, a stream."""
        with client:
            client.wait_until_ready()
            self.assertEqual(client.server_info().tenant, 'red')
            model = client.create_model(path=MODEL)
            with client.create_batch(model, 2) as batch:
                batch.step(steps=2)
                with batch.stream() as stream:
                    stream.send(steps=3)
                    self.assertEqual(list(stream.receive().step_index), [5, 5])
                self.assertEqual([one.name for one in client.list_batches()], [batch.name])

    def test_python_takes_credentials_as_arguments(self):
        self.use(axion.Client(self.server.address, **self.arguments))

    def test_python_takes_credentials_from_the_environment(self):
        with mock.patch.dict(os.environ, self.environment):
            self.use(axion.Client(self.server.address))
            with axion.Client(self.server.address, token='wrong') as client, self.assertRaises(axion.UnauthenticatedError):
                client.server_info()   # an argument stands in for its variable

    def test_the_tool_takes_credentials_as_flags_and_from_the_environment(self):
        for flags, environment in ((self.flags(), {}), ([], self.environment)):
            code, out, error = tool('info', f'--server={self.server.address}', *flags, **environment)
            self.assertEqual(code, 0, error)
            code, out, error = tool('run', MODEL, '--worlds=2', '--seconds=0.1', f'--server={self.server.address}', *flags,
                                    **environment)
            self.assertEqual(code, 0, error)
            code, out, error = tool('bench', MODEL, '--calls=5', f'--server={self.server.address}', *flags, **environment)   # a stream
            self.assertEqual(code, 0, error)

    def test_what_is_wrong_is_said_in_words(self):
        other = self.stranger.issue('other')
        for changed, words in (({'token': ''}, 'authorization: is absent'),
                               ({'token': 'axion_wrong'}, 'the token is unknown here'),
                               ({'tls_ca': self.stranger.certificate}, 'not of the authority given'),
                               ({'tls_cert': '', 'tls_key': ''}, 'may want TLS'),
                               ({'tls_cert': other[0], 'tls_key': other[1]}, 'may want TLS'),
                               ({'tls_ca': '', 'tls_cert': '', 'tls_key': ''}, 'may want TLS'),
                               ({'tls_key': ''}, 'give both'),
                               ({'tls_ca': self.folder / 'absent'}, 'tls_ca')):
            with self.subTest(changed=sorted(changed), by='python'):
                with self.assertRaises((axion.AxionError, ValueError)) as raised:
                    with axion.Client(self.server.address, **{**self.arguments, **changed}) as client:
                        client.server_info()
                self.assertIn(words, str(raised.exception))
            with self.subTest(changed=sorted(changed), by='tool'):
                code, _, error = tool('info', f'--server={self.server.address}', *self.flags(**changed))
                self.assertEqual(code, 1)
                self.assertIn(words, error)

    def test_waiting_for_a_server_says_why_it_does_not_come(self):
        with axion.Client(self.server.address, **{**self.arguments, 'tls_ca': self.stranger.certificate}) as client:
            def is_told():
                """False where the time was too short for an attempt."""
                with self.assertRaises(axion.UnavailableError) as raised:
                    client.wait_until_ready(timeout=1)
                return 'not of the authority given' in str(raised.exception)

            self.assertTrue(case.eventually(is_told))

    def test_a_certificate_for_another_name_is_taken_by_that_name_alone(self):
        certificate, key = self.authority.issue('elsewhere', hosts='DNS:elsewhere.example')
        server = self.enterContext(case.Server(BIN, f'--tls_cert={certificate}', f'--tls_key={key}'))
        ca = self.authority.certificate
        with axion.Client(server.address, tls_ca=ca) as client, self.assertRaises(axion.UnavailableError) as raised:
            client.server_info()
        self.assertIn('tls_server_name', str(raised.exception))
        with axion.Client(server.address, tls_ca=ca, tls_server_name='elsewhere.example') as client:
            client.server_info()
        self.assertEqual(tool('info', f'--server={server.address}', f'--tls_ca={ca}')[0], 1)
        code, _, error = tool('info', f'--server={server.address}', f'--tls_ca={ca}', AXION_TLS_SERVER_NAME='elsewhere.example')
        self.assertEqual(code, 0, error)

    def test_a_token_does_not_travel_to_another_machine_in_the_clear(self):
        with self.assertRaisesRegex(ValueError, 'for anybody to read'):
            axion.Client('192.0.2.1:8470', token=self.token)
        axion.Client('192.0.2.1:8470', token=self.token, insecure_token=True).close()
        for target in ('192.0.2.1:8470', 'sim.example:8470', '[2001:db8::1]:8470', 'localhost.example:8470', '127.example.com:8470'):
            with self.assertRaises(ValueError, msg=target):
                axion.Client(target, token=self.token)
            code, _, error = tool('info', f'--server={target}', f'--token={self.token}', '--timeout=2s')
            self.assertEqual(code, 1)
            self.assertIn('for anybody to read', error, target)
        for target in ('localhost:8470', '127.0.0.1:1', '[::1]:1', '127.1.2.3:1', 'dns:///localhost:1', 'unix:/nowhere'):
            axion.Client(target, token=self.token).close()
        with self.assertRaisesRegex(ValueError, 'more than its one line'):
            axion.Client('127.0.0.1:1', token=f'{self.token}\n{self.token}')

    def test_the_tool_makes_tokens_that_differ_and_refuses_names_that_the_server_would(self):
        made = [json.loads(tool('token', 'new', '--tenant=a', '--json')[1]) for _ in range(3)]
        self.assertEqual(len({one['token'] for one in made}), 3)
        for one in made:
            digest = case.hashlib.sha256(one['token'].encode()).hexdigest()
            self.assertEqual(one['line'], f'a sha256:{digest}')
        code, out, _ = tool('token', 'new', '--tenant=a')
        self.assertEqual(code, 0)
        self.assertRegex(out, r'axion_[A-Za-z0-9_-]{43,}\n')
        for flags in (['--tenant='], ['--tenant=a b'], ['--tenant=-a'], []):
            self.assertEqual(tool('token', 'new', *flags)[0], 2)
        self.assertEqual(tool('token', 'old', '--tenant=a')[0], 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
