"""What a person reads: how the tool ends where something is wrong, with which exit code; numbers with their names; snapshots."""

import json
import pathlib
import re
import tempfile
import unittest

from axiond_case import AXIOND, AxiondCase, AxiondProcess
from tool_test import HAS_EXTRAS, QUADRUPED, tool, tool_here

NOBODY = "127.0.0.1:9"  # where nothing listens


@unittest.skipUnless(HAS_EXTRAS, "extras are not installed")
class Endings(AxiondCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def ends(self, words, code, pattern, server=None):
        with self.subTest(words=words):
            found, told, error = tool_here(*words, f"--server={server or self.target}")
            self.assertEqual((found, told), (code, ""), error)
            self.assertRegex(error, rf"^axion {words[0]}: {pattern}")
            for noise in ("Traceback", "libprotobuf", "terminate called"):
                self.assertNotIn(noise, error)
            self.assertLess(len(error.splitlines()), 4, error)

    def test_where_no_server_answers_the_tool_asks_whether_one_runs(self):
        for words in (["info"], ["create", QUADRUPED], ["run", QUADRUPED], ["watch"], ["bench", QUADRUPED], ["snapshot", "list"],
                      ["render", QUADRUPED, f"--out={self.folder / 'a.png'}"], ["view", QUADRUPED, "--no-browser"],
                      ["train", "example", f"--out={self.folder / 'none'}"]):
            self.ends(words, 1, rf"UNAVAILABLE: .*{re.escape(NOBODY)}.*refused\n  nothing listens there: is axiond running", NOBODY)
        self.ends(["info"], 1, r"UNAVAILABLE: .*\n  this name is not known; an address is HOST:PORT", "no-such-host.invalid:1")

    def test_an_address_without_a_port_has_axionds_own(self):
        for words in (["info"], ["render", QUADRUPED, f"--out={self.folder / 'a.png'}"]):
            for host, target in (("127.9.9.9", r"127\.9\.9\.9:8470"), ("::1", r"(\[|%5B)::1(\]|%5D):8470")):
                self.ends(words, 1, f"UNAVAILABLE: .*{target}", host)

    def test_what_the_server_does_not_have_is_named(self):
        for verb in ("batches", "step", "run", "state", "reset", "contacts", "stats", "watch", "bench", "delete", "view"):
            self.ends([verb, "batches/none"], 1, 'NOT_FOUND: name: "batches/none" does not exist')
        self.ends(["render", "batches/none", f"--out={self.folder / 'b.png'}"], 1, 'NOT_FOUND: name: "batches/none" does not exist')
        self.ends(["create", "models/none"], 1, 'NOT_FOUND: name: "models/none" does not exist')
        self.assertEqual(list(self.folder.glob("b.png")), [])

    def test_a_file_that_cannot_be_read_is_named_with_the_reason(self):
        none, hint = self.folder / "none.xml", r"batches are named batches/ID, and models models/ID"
        for words in (["create", none], ["run", none], ["bench", none]):
            self.ends(words, 1, rf"cannot read the file '{none}': No such file or directory; {hint}$")
            self.ends([words[0], self.folder], 1, rf"cannot read the file '{self.folder}': Is a directory")
        for words in (["render", none, f"--out={self.folder / 'c.png'}"], ["view", none]):
            self.ends(words, 1, rf"cannot use the file '{none}': no such file; {hint}$")
        self.ends(["view", self.folder], 1, rf"cannot use the file '{self.folder}': Is a directory")
        self.ends(["snapshot", "restore", none], 1, rf"cannot read the file '{none}': No such file or directory$")
        self.ends(["snapshot", "restore", self.folder], 1, rf"cannot read the file '{self.folder}': Is a directory$")
        self.ends(["info", f"--tls_ca={self.folder}"], 1, rf'INVALID_ARGUMENT: tls_ca: "{self.folder}" cannot be read, or is empty')

    def test_a_file_that_is_no_scene_is_refused_with_what_is_wrong(self):
        for name, content, pattern in (("words.xml", b"not <xml", "mjcf.xml: The document is not well-formed"),
                                       ("cut.urdf", b"<robot name='a'><link", "urdf.xml: The document is not well-formed"),
                                       ("empty.xml", b"", "mjcf.xml: The document is not well-formed"),
                                       ("bytes.xml", bytes(range(256)), "mjcf.xml: The document has a NUL byte")):
            (self.folder / name).write_bytes(content)
            for verb in ("create", "view"):
                self.ends([verb, self.folder / name], 1, f"INVALID_ARGUMENT: {pattern}")
        self.ends(["snapshot", "restore", self.folder / "bytes.xml"], 1, "INVALID_ARGUMENT: content: the snapshot is not the content")

    def test_a_file_with_words_in_another_encoding_is_taken(self):
        path = self.folder / "latin.xml"
        path.write_bytes("<mujoco><!-- 90° --><worldbody><body name='ä'><geom size='1'/></body></worldbody></mujoco>".encode("latin-1"))
        code, told, error = tool("create", path, "--worlds=0", f"--server={self.target}")
        self.assertEqual((code, error), (0, ""))
        self.assertEqual(self.client.create_model(path=path).name, told.split()[0])  # the same bytes from both languages

    def test_a_file_that_cannot_be_written_is_told_of_before_the_work(self):
        for verb, ending, flags in (("render", ".mp4", ["--seconds=100000"]), ("render", ".mcap", ["--seconds=100000"]),
                                    ("render", ".png", [])):
            out = self.folder / "none" / f"a{ending}"
            self.ends([verb, QUADRUPED, f"--out={out}", *flags], 1, rf"cannot use the file '{out}': No such file or directory$")


class Words(AxiondCase):
    def test_numbers_stand_beside_what_they_are_of(self):
        batch = self.client.create_batch(self.client.create_model(path=QUADRUPED), 2)
        batch.reset(keyframe="stand")
        for words in (["state", batch.name, "--fields=body_pose,joint_position,time", "--show=1"],
                      ["step", batch.name, "--outputs=body_pose,joint_position,time", "--show=1"]):
            code, told, error = tool(*words, f"--server={self.target}")
            self.assertEqual((code, error), (0, ""))
            self.assertEqual(told.count("  world 1\n"), 3)
            self.assertRegex(told, r"\n    +[\d.e-]+ [ \d.e-]+  trunk\n")
            self.assertRegex(told, r"\n    +-1\.5\d+  fl_knee position \(rad\)\n")
            self.assertRegex(told, r"\n    +[\d.]+  root z \(m\)\n")
            self.assertRegex(told, r"\n    +[\d.]+  time \(s\)\n")

    def test_what_touches_nothing_and_what_nobody_steps_is_said(self):
        batch = self.client.create_batch(self.client.create_model(path=QUADRUPED), 2)
        self.assertIn("nothing touches; contacts are those of the last step", tool("contacts", batch.name, f"--server={self.target}")[1])
        told = tool("watch", batch.name, "--count=1", "--interval=10ms", f"--server={self.target}")[1]
        self.assertRegex(told, rf"{batch.name} +0 world-steps/s$")


class Snapshots(AxiondCase):
    def test_saving_where_nothing_is_kept_says_how_to_have_the_bytes(self):
        batch = self.client.create_batch(self.client.create_model(path=QUADRUPED), 2)
        batch.step(steps=3)
        code, told, error = tool("snapshot", "save", batch.name, f"--server={self.target}")
        self.assertEqual((code, told), (1, ""))
        self.assertRegex(error, r"^axion snapshot: FAILED_PRECONDITION: .*--state_dir.*; with this tool: --nokeep --out=FILE$")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "kept"
            code, told, error = tool("snapshot", "save", batch.name, "--nokeep", f"--out={file}", f"--server={self.target}")
            self.assertEqual(code, 0, error)
            self.assertRegex(told, r"^\(not kept\) .* 2 worlds of batches/\S+ at step 3, ")
            self.assertIn("batches/", tool("snapshot", "restore", file, f"--server={self.target}")[1])
        code, told, error = tool("snapshot", "save", batch.name, "--nokeep", f"--server={self.target}")
        self.assertEqual((code, told), (2, ""))
        self.assertIn("--nokeep wants --out", error)

    def test_what_is_deleted_is_said(self):
        with tempfile.TemporaryDirectory() as state, AxiondProcess(AXIOND, f"--state_dir={state}") as server:
            def asked(*words):
                code, told, error = tool(*words, f"--server={server.address}")
                self.assertEqual(code, 0, error)
                return told
            made = json.loads(asked("create", QUADRUPED, "--json"))
            names = [json.loads(asked("snapshot", "save", made["batch"], f"--name={name}", "--json"))["name"] for name in "abc"]
            self.assertEqual([line.split()[0] for line in asked("snapshot", "list").splitlines()], names)
            self.assertEqual(json.loads(asked("snapshot", "delete", *names[:2], "--json")), {"deleted": names[:2]})
            self.assertEqual(asked("snapshot", "delete", names[2]), f"deleted {names[2]}\n")
            self.assertEqual(json.loads(asked("snapshot", "list", "--json")), [])
            code, told, error = tool("snapshot", "delete", names[0], "--json", f"--server={server.address}")
            self.assertEqual((code, told), (1, ""))
            self.assertRegex(error, f'^axion snapshot: NOT_FOUND: .*"{names[0]}"')


if __name__ == "__main__":
    unittest.main()
