"""Files of a scene: what is collected of an MJCF file and sent along."""

import os
import tempfile
import unittest

import axion


class ReadMjcf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def test_includes_and_meshes_are_named_as_the_document_names_them(self):
        self.write("parts/arm.xml", "<mujoco><asset><mesh file='arm.stl'/><mesh file='sub/b.OBJ'/></asset>"
                                    "<include file='parts/leg.xml'/></mujoco>")
        self.write("parts/leg.xml", "<mujoco><asset><mesh file='absent.stl'/><texture file='t.png'/></asset></mujoco>")
        self.write("meshes/arm.stl", b"\x00\xffsolid")
        self.write("meshes/sub/b.OBJ", "v 0 0 0")
        self.write("meshes/t.png", "no mesh")
        main = self.write("robot.xml", "<mujoco><compiler meshdir='meshes'/><include file='./parts/arm.xml'/></mujoco>")
        text, assets = axion.read_mjcf(main)
        self.assertIn("compiler", text)
        self.assertEqual(sorted(assets), ["./parts/arm.xml", "meshes/arm.stl", "meshes/sub/b.OBJ", "parts/leg.xml"])
        self.assertEqual(assets["meshes/arm.stl"], b"\x00\xffsolid")

    def test_a_file_that_is_no_document_is_sent_for_the_server_to_refuse(self):
        main = self.write("robot.xml", "<mujoco><include file='robot.xml'/><worldbody>")
        text, assets = axion.read_mjcf(main)
        self.assertTrue(text.startswith("<mujoco>"))
        self.assertEqual(assets, {})

    def test_the_last_compiler_of_all_documents_names_the_folder_of_meshes(self):
        self.write("parts/arm.xml", "<mujoco><compiler meshdir='elsewhere'/><asset><mesh file='arm.stl'/></asset></mujoco>")
        self.write("meshes/arm.stl", b"solid")
        main = self.write("robot.xml", "<mujoco><include file='parts/arm.xml'/><compiler meshdir='meshes'/></mujoco>")
        self.assertEqual(sorted(axion.read_mjcf(main)[1]), ["meshes/arm.stl", "parts/arm.xml"])

    def test_includes_in_a_circle_end(self):
        main = self.write("a.xml", "<mujoco><include file='b.xml'/></mujoco>")
        self.write("b.xml", "<mujoco><include file='a.xml'/></mujoco>")
        self.assertEqual(sorted(axion.read_mjcf(main)[1]), ["a.xml", "b.xml"])

    def test_meshes_of_an_included_document_may_be_relative_to_it(self):
        self.write("meshes/arm.stl", b"solid")
        self.write("parts/arm.xml", "<mujoco><asset><mesh file='../meshes/arm.stl'/><mesh file='b.stl'/></asset></mujoco>")
        self.write("parts/b.stl", b"own")
        main = self.write("robot.xml", "<mujoco><include file='parts/arm.xml'/></mujoco>")
        self.assertEqual(axion.read_mjcf(main)[1]["../meshes/arm.stl"], b"solid")
        self.assertEqual(axion.read_mjcf(main)[1]["b.stl"], b"own")

    def test_meshes_of_an_included_document_may_lie_beside_it_without_the_folder_of_meshes(self):
        arm = self.write("arm.xml", "<mujoco><compiler meshdir='meshes'/><asset><mesh file='arm.stl'/></asset></mujoco>")
        self.write("arm.stl", b"beside")
        main = self.write("robot.xml", "<mujoco><include file='arm.xml'/></mujoco>")
        self.assertEqual(axion.read_mjcf(main)[1]["meshes/arm.stl"], b"beside")
        self.assertEqual(axion.read_mjcf(arm)[1], {})  # a model's own document: its folder of meshes alone

    def test_files_of_an_attached_model_are_those_of_its_folder(self):
        self.write("parts/arm.xml", "<mujoco><compiler meshdir='meshes'/><asset><mesh file='arm.stl'/><model file='hand.xml'/>"
                                    "</asset><include file='joints.xml'/></mujoco>")
        self.write("parts/joints.xml", "<mujoco/>")
        self.write("parts/hand.xml", "<mujoco><asset><model file='arm.xml'/></asset></mujoco>")
        self.write("parts/meshes/arm.stl", b"solid")
        self.write("own/trunk.stl", b"other")
        main = self.write("robot.xml", "<mujoco><compiler meshdir='own'/><asset><model name='a' file='parts/arm.xml'/>"
                                       "<mesh file='trunk.stl'/><model file='absent.xml'/></asset></mujoco>")
        self.assertEqual(sorted(axion.read_mjcf(main)[1]), ["own/trunk.stl", "parts/arm.xml", "parts/hand.xml",
                                                            "parts/joints.xml", "parts/meshes/arm.stl"])


if __name__ == "__main__":
    unittest.main()
