#!/usr/bin/env python3
"""The proxy of deploy/haproxy.cfg lets clients through to a real axiond, and keeps calls from it that are taken back as soon as they
are made.

Usage: proxy_test.py BIN_DIRECTORY MODEL.xml, with an interpreter that has the package axion.
"""

import itertools
import pathlib
import shutil
import ssl
import sys
import threading
import unittest

import numpy as np

import axion

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'tests/end_to_end')]
import access_case as case  # noqa: E402
from rapid_reset import headers, take_back  # noqa: E402 - access_case knows where it is

BIN = pathlib.Path(sys.argv[1])
MODEL = pathlib.Path(sys.argv[2]).read_text()


@unittest.skipUnless(shutil.which('haproxy'), 'haproxy is not installed')
class Proxy(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(case.scratch())
        self.token, token_hash = case.new_token()
        (folder / 'tokens').write_text(f'blue {token_hash}\n')
        self.server = self.enterContext(case.Server(BIN, f'--token_file={folder / "tokens"}'))
        self.port, self.authority = self.enterContext(case.proxy(folder, self.server.address))
        self.context = ssl.create_default_context(cafile=self.authority)
        self.context.set_alpn_protocols(['h2'])

    def client(self, **keywords):
        return self.enterContext(axion.Client(f'localhost:{self.port}', tls_ca=self.authority, **keywords))

    def test_clients_work_through_the_proxy(self):
        client = self.client(token=self.token)
        batch = client.create_batch(client.create_model(MODEL), 512)
        self.assertEqual(batch.step(steps=3).step_index.tolist(), [3] * 512)
        with batch.stream() as stream:
            indices = [result.step_index[0] for result in stream.map(({} for _ in range(50)), in_flight=8)]
        self.assertEqual(indices, list(range(4, 54)))
        # Megabytes either way.
        carried = batch.save_snapshot(return_content=True, skip_store=True)
        self.assertGreater(len(carried.content), 1 << 20)
        again = client.restore_snapshot(carried)
        np.testing.assert_array_equal(again.get_state('body_pose')['body_pose'], batch.get_state('body_pose')['body_pose'])

    def test_calls_without_a_token_end_at_the_proxy(self):
        with self.assertRaises(axion.UnauthenticatedError):
            self.client().server_info()
        rejected = 'axion_rejected_total{reason="token_missing"}'
        self.assertEqual(self.server.metric(rejected, 0), 0)
        with self.assertRaises(axion.UnauthenticatedError):
            self.client(token=case.new_token()[0]).server_info()

    def test_calls_that_are_taken_back_at_once_do_not_come_to_the_server(self):
        client = self.client(token=self.token)
        batch = client.create_batch(client.create_model(MODEL), 1)
        path, steps = '/axion.v1.Simulation/GetServerInfo', itertools.count(1)
        for call in (headers(path), headers(path, ('authorization', f'Bearer {self.token}')),
                     headers('/grpc.health.v1.Health/Check')):
            with self.subTest(call=call):
                enough, sent = threading.Event(), []
                arguments = (self.port, call, enough, lambda calls, _, sent=sent: sent.append(calls), self.context)
                attackers = [threading.Thread(target=take_back, args=arguments) for _ in range(4)]
                for attacker in attackers:
                    attacker.start()
                try:
                    # Ten times what the server itself ends connections for.
                    while sum(sent) < 10_000:
                        self.assertEqual(batch.step().step_index.tolist(), [next(steps)])
                finally:
                    enough.set()
                    for attacker in attackers:
                        attacker.join()
        self.assertEqual(self.server.metric('axion_connections_cut_total'), 0)
        self.assertEqual(self.server.metric('axion_rejected_total{reason="token_missing"}', 0), 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
