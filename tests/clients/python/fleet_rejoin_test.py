"""axion.Fleet whose servers are found by a name, begin all at once, are lost and come back: bits of one server's run; see
axiond_case.py."""

import socket
import threading
import unittest
from unittest import mock

import numpy as np

import axion
from axion import addresses
from axiond_case import AXIOND, ROOT
from axiond_process import AxiondProcess, eventually

SCENE = (ROOT / "clients" / "examples" / "models" / "quadruped.xml").read_text()
WORLDS = 7


class Names:
    """A domain name system in which the host `farm` has the addresses of `listed`."""

    def __init__(self, *listed):
        self.listed = list(listed)
        self._real = socket.getaddrinfo

    def getaddrinfo(self, host, port, *arguments, **named):
        if host != "farm":
            return self._real(host, port, *arguments, **named)
        if not self.listed:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in self.listed]

    def installed(self):
        return mock.patch("socket.getaddrinfo", self.getaddrinfo)


class Addresses(unittest.TestCase):
    def of(self, target, *listed):
        with Names(*listed).installed():
            return addresses.addresses_of(target)

    def test_a_host_is_all_its_addresses_in_one_order(self):
        expected = ["127.0.0.2:9000", "127.0.0.10:9000"]
        self.assertEqual(self.of("farm:9000", "127.0.0.10", "127.0.0.2", "127.0.0.10"), expected)
        self.assertEqual(self.of("dns:///farm:9000", "127.0.0.2", "127.0.0.10"), expected)
        self.assertEqual(self.of("farm", "127.0.0.3"), ["127.0.0.3:8470"])

    def test_one_server_with_two_kinds_of_address_is_one(self):
        self.assertEqual(self.of("farm:1", "::1", "127.0.0.1"), ["127.0.0.1:1"])
        self.assertEqual(self.of("farm:1", "fd00::2", "::1"), ["[::1]:1", "[fd00::2]:1"])

    def test_addresses_are_their_own(self):
        for given, expected in (("10.0.0.1:5", "10.0.0.1:5"), ("10.0.0.1", "10.0.0.1:8470"), ("[::1]:7", "[::1]:7"), ("::1", "[::1]:8470"),
                                ("unix:/run/axion", "unix:/run/axion")):
            self.assertEqual(self.of(given), [expected])

    def test_what_is_no_port_is_named(self):
        for wrong in ("farm:0", "farm:70000", "farm:axion", "farm:"):
            with self.assertRaisesRegex(ValueError, f"targets: '{wrong}' is no HOST:PORT"):
                self.of(wrong, "127.0.0.1")

    def test_certificates_are_for_the_name(self):
        from axion.fleet_members import client_choices_of

        with mock.patch.dict("os.environ", {"AXION_TLS_SERVER_NAME": ""}):
            self.assertEqual(client_choices_of("farm:9000", {"tls": True}), {"tls": True, "tls_server_name": "farm"})
            self.assertEqual(client_choices_of("farm:9000", {"tls_server_name": "sim"}), {"tls_server_name": "sim"})


@unittest.skipUnless(AXIOND, "AXION_AXIOND does not name the server's program")
class Rejoining(unittest.TestCase):
    def setUp(self):
        self.names = Names()
        self.enterContext(self.names.installed())
        self.servers = {}
        self.port = 0
        for host in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            self.start(host)

    def start(self, host):
        """A server at this address, which the name has from now on; all have one port, as pods of one service."""
        server = AxiondProcess(AXIOND, host=host, port=self.port)
        self.addCleanup(server.close)
        self.port = server.port
        self.servers[host] = server
        if host not in self.names.listed:
            self.names.listed.append(host)

    def kill(self, host):
        self.servers[host].kill()

    def fleet(self, **choices):
        return self.enterContext(axion.Fleet(f"farm:{self.port}", **{"patience": 0.3, "rejoin": 0.1, "least": 3, **choices}))

    def at(self, *hosts):
        return [f"{host}:{self.port}" for host in hosts]

    def asked(self, model, batch, events=None):
        rng, found = np.random.default_rng(1), []
        for number in range(20):
            (events or {}).get(number, lambda: None)()
            answer = batch.step(rng.uniform(-0.3, 0.3, (WORLDS, model.control_count)), steps=3, outputs=["body_pose", "joint_velocity"])
            found.append([answer["body_pose"], answer["joint_velocity"], answer.step_index, batch.contacts().normal_impulse])
        return found

    def expect_bits_of_one_server(self, model, found):
        with axion.Client(self.at("127.0.0.1")[0]) as client, client.create_batch(client.create_model(mjcf=SCENE), WORLDS, 0.005) as batch:
            for mine, theirs in zip(found, self.asked(model, batch), strict=True):
                for a, b in zip(mine, theirs, strict=True):
                    np.testing.assert_array_equal(a, b)

    def test_a_name_stands_for_all_servers_that_it_has(self):
        fleet = self.fleet()
        self.assertEqual(fleet.targets, self.at("127.0.0.1", "127.0.0.2", "127.0.0.3"))
        model = fleet.create_model(mjcf=SCENE)
        with fleet.create_batch(model, WORLDS, 0.005, shares=[1, 1, 1]) as batch:
            self.expect_bits_of_one_server(model, self.asked(model, batch))

    def test_it_waits_for_servers_that_are_not_there_yet(self):
        self.names.listed.clear()
        timer = threading.Timer(0.5, lambda: self.names.listed.extend(("127.0.0.1", "127.0.0.2", "127.0.0.3")))
        timer.start()
        self.addCleanup(timer.join)
        self.assertEqual(len(self.fleet(wait=60).targets), 3)

    def test_too_few_servers_are_told(self):
        with self.assertRaisesRegex(axion.UnavailableError, f"targets: 3 of at least 4 servers answer at farm:{self.port} within 0.5 s"):
            self.fleet(least=4, wait=0.5)
        self.names.listed.clear()
        with self.assertRaisesRegex(axion.UnavailableError, "0 of at least 1 servers .* has no address: Name or service not known"):
            self.fleet(least=1, wait=0.3)
        for choices, text in (({"least": -1}, "least: is -1"), ({"wait": -1.0}, "wait: -1.0 s is no time"),
                              ({"rejoin": float("nan")}, "rejoin: nan s is no time"), ({"least": "3"}, "least: wants int")):
            with self.assertRaisesRegex((ValueError, TypeError), text):
                axion.Fleet("farm:1", **choices)
        with self.assertRaisesRegex(ValueError, "least: is 2, and there are 1 targets"):
            axion.Fleet(["127.0.0.1:1"], least=2)
        with self.assertRaisesRegex(ValueError, "targets: a fleet has at least one"):
            axion.Fleet("")

    def test_models_and_worlds_are_made_on_all_servers_at_once(self):
        fleet = self.fleet()
        real_model, real_batch = axion.Client._create_model, axion.Client.create_batch
        together = threading.Barrier(3)

        def meet(real):
            def call(*arguments, **named):
                together.wait(60)  # breaks, and the call fails, where the others do not come
                return real(*arguments, **named)
            return call
        with mock.patch.object(axion.Client, "_create_model", meet(real_model)):
            model = fleet.create_model(mjcf=SCENE)
        with mock.patch.object(axion.Client, "create_batch", meet(real_batch)):
            fleet.measure(model)
            fleet.create_batch(model, WORLDS, shares=[1, 1, 1]).delete()

    def test_a_server_that_is_back_gets_its_worlds_again(self):
        fleet = self.fleet()
        model = fleet.create_model(mjcf=SCENE)
        with fleet.create_batch(model, WORLDS, 0.005, shares=[1, 1, 1], checkpoint_every=4) as batch:
            before = batch.placement
            places = []

            def lose():
                self.kill("127.0.0.2")

            def come_back():
                places.append(batch.placement)
                self.servers["127.0.0.2"].close()
                self.start("127.0.0.2")
                self.assertTrue(eventually(lambda: len(fleet.targets) == 3))
            found = self.asked(model, batch, {6: lose, 13: come_back})
            self.assertNotIn(*self.at("127.0.0.2"), places[0])
            self.assertEqual(batch.placement, before)
            self.expect_bits_of_one_server(model, found)
            with axion.Client(self.at("127.0.0.1")[0]) as client:
                self.assertEqual(len(client.list_batches()), 1)  # what was there meanwhile is gone

    def test_a_pod_that_is_made_anew_elsewhere_takes_the_place_of_the_lost_one(self):
        fleet = self.fleet()
        model = fleet.create_model(mjcf=SCENE)
        with fleet.create_batch(model, WORLDS, 0.005, shares=[1, 1, 1]) as batch:
            def move():
                self.kill("127.0.0.3")
                self.names.listed.remove("127.0.0.3")

            def appear():
                self.start("127.0.0.4")
                self.assertTrue(eventually(lambda: len(fleet.targets) == 3))
            found = self.asked(model, batch, {5: move, 12: appear})
            self.assertEqual(set(batch.placement), set(self.at("127.0.0.1", "127.0.0.2", "127.0.0.4")))
            self.expect_bits_of_one_server(model, found)

    def test_more_servers_are_there_for_later_batches(self):
        fleet = self.fleet()
        model = fleet.create_model(mjcf=SCENE)
        self.start("127.0.0.4")
        self.assertTrue(eventually(lambda: len(fleet.targets) == 4))
        with fleet.create_batch(model, 8, shares=[1, 1, 1, 1]) as batch:
            self.assertEqual(list(batch.placement.values()), [2, 2, 2, 2])

    def test_what_does_not_take_its_worlds_back_is_left_alone(self):
        fleet = self.fleet()
        model = fleet.create_model(mjcf=SCENE)
        with fleet.create_batch(model, WORLDS, 0.005, shares=[1, 1, 1]) as batch:
            def lose():
                self.kill("127.0.0.2")

            def come_back():
                self.servers["127.0.0.2"].close()
                self.servers["127.0.0.2"] = server = AxiondProcess(AXIOND, "--max_worlds=1", host="127.0.0.2", port=self.port)
                self.addCleanup(server.close)
                self.assertTrue(eventually(lambda: len(fleet.targets) == 3))
            found = self.asked(model, batch, {6: lose, 13: come_back})
            self.assertNotIn(*self.at("127.0.0.2"), batch.placement)
            self.expect_bits_of_one_server(model, found)

    def test_listed_servers_come_back_too_unless_it_is_told_not_to(self):
        for rejoin in (0.1, None):
            with self.subTest(rejoin=rejoin):
                fleet = self.enterContext(axion.Fleet(self.at("127.0.0.1", "127.0.0.2"), patience=0.3, rejoin=rejoin))
                model = fleet.create_model(mjcf=SCENE)
                with fleet.create_batch(model, WORLDS, 0.005, shares=[1, 1]) as batch:
                    self.kill("127.0.0.2")
                    batch.step()
                    self.assertEqual(fleet.targets, self.at("127.0.0.1"))
                    self.servers["127.0.0.2"].close()
                    self.start("127.0.0.2")
                    if rejoin is not None:
                        self.assertTrue(eventually(lambda: len(fleet.targets) == 2))
                    batch.step()
                    self.assertEqual(len(batch.placement), 1 if rejoin is None else 2)


if __name__ == "__main__":
    unittest.main()
