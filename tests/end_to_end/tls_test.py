#!/usr/bin/env python3
"""TLS and mutual TLS of a real axiond: whom it lets in, what it says of wrong files, new certificates while it serves, and that it
does not listen beyond its machine without protection.

Usage: tls_test.py BIN_DIRECTORY, with an interpreter that has the package axion; openssl makes the certificates.
"""

import pathlib
import sys
import threading
import unittest

import grpc

import access_case as case

BIN = pathlib.Path(sys.argv[1])
OK, UNAVAILABLE = grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE


class Tls(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(case.scratch())
        self.authority = case.Authority(self.folder, 'authority')
        self.certificate, self.key = self.authority.issue('server')
        self.flags = (f'--tls_cert={self.certificate}', f'--tls_key={self.key}')

    def serve(self, *flags, **keywords):
        return self.enterContext(case.Server(BIN, *self.flags, *flags, **keywords))

    def test_clients_of_the_right_authority_are_served_and_no_others(self):
        server = self.serve()
        stranger = case.Authority(self.folder, 'stranger')
        self.assertEqual(case.info(server.stub(self.authority.certificate))[0], OK)
        code, text = case.info(server.stub(stranger.certificate))
        self.assertEqual(code, UNAVAILABLE, text)
        self.assertEqual(case.info(server.stub())[0], UNAVAILABLE)   # without TLS
        self.assertEqual(case.info(server.stub(self.authority.certificate))[0], OK)
        self.assertGreater(server.metric('axion_certificate_expiry_timestamp_seconds'), 1.7e9)
        self.assertEqual(server.stop(), 0)

    def test_mutual_tls_wants_a_certificate_of_its_authority(self):
        clients, stranger = case.Authority(self.folder, 'clients'), case.Authority(self.folder, 'stranger')
        server = self.serve(f'--tls_client_ca={clients.certificate}')
        ours = self.authority.certificate
        self.assertEqual(case.info(server.stub(ours, *clients.issue('member')))[0], OK)
        self.assertEqual(case.info(server.stub(ours))[0], UNAVAILABLE)
        self.assertEqual(case.info(server.stub(ours, *stranger.issue('other')))[0], UNAVAILABLE)
        self.assertEqual(case.info(server.stub(ours, *clients.issue('late', days=-1)))[0], UNAVAILABLE)

    def test_a_certificate_is_exchanged_under_load_without_a_dropped_call(self):
        server = self.serve()
        successor = case.Authority(self.folder, 'successor')
        both = self.folder / 'both.pem'
        both.write_bytes(self.authority.certificate.read_bytes() + successor.certificate.read_bytes())
        failures, calls, done = [], [0], threading.Event()

        def call(fresh):
            stub = server.stub(both)
            while not done.is_set():
                if fresh:
                    stub = server.stub(both)
                found = case.info(stub)
                calls[0] += 1
                if found[0] != OK:
                    failures.append(found)

        threads = [threading.Thread(target=call, args=(fresh,)) for fresh in (False, False, True, True)]
        for thread in threads:
            thread.start()
        try:
            # One file after the other, as a person would.
            certificate, key = successor.issue('next')
            case.replace(self.certificate, certificate.read_bytes())
            case.replace(self.key, key.read_bytes())
            self.assertTrue(case.eventually(lambda: server.reloads('tls') == 1), server.log_text())
            self.assertEqual(case.info(server.stub(successor.certificate))[0], OK)
            before = calls[0]
            self.assertTrue(case.eventually(lambda: calls[0] > before + 20))
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(case.info(server.stub(self.authority.certificate))[0], UNAVAILABLE)   # the old one is gone

    def test_a_wrong_new_certificate_is_reported_and_the_old_one_stays(self):
        server = self.serve()
        case.replace(self.certificate, self.authority.issue('late', days=-1)[0].read_bytes())
        self.assertTrue(case.eventually(lambda: server.reloads('tls', 'refused') == 1))
        self.assertTrue(case.eventually(lambda: 'has expired' in server.log_text()))
        self.assertEqual(case.info(server.stub(self.authority.certificate))[0], OK)

    def test_a_file_that_cannot_be_used_is_named_with_its_flag(self):
        late, late_key = self.authority.issue('late', days=-1)
        other_key = self.authority.issue('other')[1]
        nothing, noise, locked = (self.folder / name for name in ('nothing', 'noise', 'locked.key'))
        noise.write_bytes(b'\0\xff not PEM')
        case.openssl('ec', '-in', self.key, '-aes128', '-passout', 'pass:x', '-out', locked)
        for certificate, key, ca, words in (
                (nothing, self.key, '', ('--tls_cert=', 'No such file')),
                (self.folder, self.key, '', ('--tls_cert=', 'no regular file')),
                ('/dev/zero', self.key, '', ('--tls_cert=', 'no regular file')),
                (noise, self.key, '', ('--tls_cert=', 'no certificates')),
                (self.certificate, nothing, '', ('--tls_key=', 'No such file')),
                (self.certificate, noise, '', ('--tls_key=', 'no private key')),
                (self.certificate, locked, '', ('--tls_key=', 'passphrase')),
                (self.certificate, other_key, '', ('--tls_key=', 'is not the key of')),
                (late, late_key, '', ('--tls_cert=', 'has expired')),
                (self.certificate, self.key, noise, ('--tls_client_ca=', 'no certificates')),
                (self.certificate, self.key, nothing, ('--tls_client_ca=', 'No such file')),
                (self.certificate, '', '', ('--tls_cert=', '--tls_key')),
                ('', self.key, '', ('--tls_key=', '--tls_cert')),
                ('', '', self.authority.certificate, ('--tls_client_ca=', '--tls_cert'))):
            code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', f'--tls_cert={certificate}', f'--tls_key={key}',
                                          f'--tls_client_ca={ca}')
            with self.subTest(certificate=certificate, key=key, ca=ca):
                self.assertEqual(code, 1, text)
                for word in words:
                    self.assertIn(word, text)

    def test_beyond_the_machine_it_wants_tls_and_authentication_or_the_word_insecure(self):
        tokens = self.folder / 'tokens'
        tokens.write_text(f'a {case.new_token()[1]}\n')
        for flags, words in (((), ('nothing is encrypted', 'anybody may call')),
                             (self.flags, ('anybody may call',)),
                             ((f'--token_file={tokens}',), ('nothing is encrypted',))):
            for host in ('0.0.0.0', '[::]', '[::ffff:0.0.0.0]'):
                code, text = case.run_briefly(BIN, f'--listen={host}:0', *flags)
                with self.subTest(flags=flags, host=host):
                    self.assertEqual(code, 1, text)
                    for word in ('--listen=', '--insecure', *words):
                        self.assertIn(word, text)
        for flags in (('--insecure',), (*self.flags, f'--token_file={tokens}'),
                      (*self.flags, f'--tls_client_ca={self.authority.certificate}')):
            with case.Server(BIN, *flags, host='0.0.0.0') as server:
                self.assertEqual(server.stop(), 0)
        with case.Server(BIN, host='localhost') as server:
            self.assertEqual(server.stop(), 0)

    def test_flags_of_connections_are_checked_by_name(self):
        for flag in ('--max_concurrent_calls=0', '--keepalive_seconds=0', '--keepalive_timeout_seconds=nan',
                     '--min_ping_interval_seconds=-1', '--max_connection_age_seconds=-1', '--max_connection_age_seconds=1e300',
                     '--max_connection_age_grace_seconds=inf', '--reflection=maybe'):
            code, text = case.run_briefly(BIN, '--listen=127.0.0.1:0', flag)
            with self.subTest(flag=flag):
                self.assertEqual(code, 1, text)
                self.assertIn(flag.split('=')[0] + '=', text)

    def test_one_connection_has_no_more_calls_at_once_than_it_may(self):
        server = self.serve('--max_concurrent_calls=2')
        watch = server.channel(self.authority.certificate)
        held = [watch.unary_stream('/grpc.health.v1.Health/Watch')(b'') for _ in range(2)]
        for call in held:
            next(call)
        stub = case.simulation_pb2_grpc.SimulationStub(watch)
        with self.assertRaises(grpc.RpcError) as kept_back:
            stub.GetServerInfo(case.sim.GetServerInfoRequest(), timeout=1)
        self.assertEqual(kept_back.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        held[0].cancel()
        self.assertEqual(case.info(stub)[0], OK)

    def test_an_old_connection_is_replaced_without_a_dropped_call(self):
        server = self.serve('--max_connection_age_seconds=1')
        channel = server.channel(self.authority.certificate)
        stub, states = case.simulation_pb2_grpc.SimulationStub(channel), []
        channel.subscribe(states.append)

        def replaced():
            self.assertEqual(case.info(stub)[0], OK)
            return states.count(grpc.ChannelConnectivity.READY) >= 3

        self.assertTrue(case.eventually(replaced), states)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
