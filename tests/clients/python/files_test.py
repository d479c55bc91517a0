"""Files of a scene: what is collected of an MJCF file and sent along."""

import os
import tempfile
import unittest
from unittest import mock

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

    def read(self, document, *arguments):
        return (axion.read_urdf if document.endswith(".urdf") else axion.read_mjcf)(document, file_folders=arguments)[1]

    def refused(self, name, content):
        """Which attribute and file the error names, with the argument that allows it, and that it then does."""
        document = self.write(name, content)
        with self.assertRaises(PermissionError) as caught:
            self.read(document)
        attribute, _, rest = str(caught.exception).partition(" of ")
        self.assertTrue(rest.startswith(f"{document} is "), rest)
        refused = rest.removeprefix(f"{document} is ").partition(", ")[0]
        self.assertIn(f"file_folders=[{os.path.dirname(refused)!r}]", rest)
        with open(refused, "rb") as file:
            self.assertIn(file.read(), self.read(document, os.path.dirname(refused)).values())
        return attribute, os.path.relpath(refused, os.path.realpath(self.folder.name))

    def test_what_is_outside_of_the_folder_is_not_sent_and_the_error_names_it(self):
        key = self.write("home/.ssh/id_rsa", "PRIVATE KEY")
        self.write("home/secret.txt", "<mujoco>SECRET</mujoco>")
        self.write("home/secret.stl", "SECRET")
        for tag, name, found in (("include", key, "home/.ssh/id_rsa"), ("include", "../secret.txt", "home/secret.txt"),
                                 ("hfield", key, "home/.ssh/id_rsa"), ("hfield", "../secret.txt", "home/secret.txt"),
                                 ("mesh", "../secret.stl", "home/secret.stl"), ("model", "../secret.txt", "home/secret.txt")):
            scene = f"<mujoco><{tag} file='{name}'/></mujoco>"
            self.assertEqual(self.refused("home/models/evil.xml", scene), (f'<{tag} file="{name}">', found))
        scene = "<mujoco><compiler meshdir='..'/><mesh file='secret.stl'/></mujoco>"
        self.assertEqual(self.refused("home/models/evil.xml", scene), ('<mesh file="secret.stl">', "home/secret.stl"))
        self.write("home/models/parts/arm.xml", "<mujoco><include file='../../secret.txt'/></mujoco>")
        scene = "<mujoco><include file='parts/arm.xml'/></mujoco>"
        self.assertEqual(self.refused("home/models/evil.xml", scene)[0], '<include file="../../secret.txt">')

    def test_links_lead_out_of_no_folder_and_a_link_to_the_document_leads_to_its_own(self):
        self.write("secret.stl", "SECRET")
        os.makedirs(os.path.join(self.folder.name, "models"))
        os.symlink("..", os.path.join(self.folder.name, "models", "up"))
        os.symlink("../secret.stl", os.path.join(self.folder.name, "models", "arm.stl"))
        for name in ("up/secret.stl", "arm.stl"):
            scene = f"<mujoco><mesh file='{name}'/></mujoco>"
            self.assertEqual(self.refused("models/evil.xml", scene), (f'<mesh file="{name}">', "secret.stl"))
        main = self.write("far/robot.xml", "<mujoco><mesh file='leg.stl'/></mujoco>")
        os.symlink(main, os.path.join(self.folder.name, "models", "robot.xml"))
        os.symlink(self.write("far/leg.stl", "leg"), os.path.join(self.folder.name, "models", "leg.stl"))
        self.assertEqual(self.read(os.path.join(self.folder.name, "models", "robot.xml")), {"leg.stl": b"leg"})

    def test_hidden_folders_beside_a_document_are_not_sent(self):
        self.write(".ssh/id_rsa", "PRIVATE KEY")
        self.assertEqual(self.refused("evil.xml", "<mujoco><include file='.ssh/id_rsa'/></mujoco>")[1], ".ssh/id_rsa")

    def test_a_package_sends_its_meshes_and_pictures_but_no_text(self):
        self.write("robots/go/meshes/arm.stl", "arm")
        self.write("robots/go/hills.png", "hills")
        self.write("robots/go/notes.xml", "<mujoco>notes</mujoco>")
        for marker, folder in (("robots/go/package.xml", "scenes"), ("robots/.git/HEAD", "scenes"), (None, "urdf"), (None, "mjcf")):
            with self.subTest(marker=marker, folder=folder):
                if marker is not None:
                    self.write(marker, "marker")
                main = self.write(f"robots/go/{folder}/a.xml", "<mujoco><compiler meshdir='../meshes'/><mesh file='arm.stl'/>"
                                  "<hfield file='../hills.png'/></mujoco>")
                self.assertEqual(self.read(main), {"../meshes/arm.stl": b"arm", "../meshes/../hills.png": b"hills"})
                self.refused(f"robots/go/{folder}/b.xml", "<mujoco><include file='../notes.xml'/></mujoco>")
                if marker is not None:
                    os.remove(os.path.join(self.folder.name, marker))
                    if marker.endswith("HEAD"):
                        os.rmdir(os.path.join(self.folder.name, "robots/.git"))
        self.write("secret.stl", "SECRET")
        self.refused("robots/go/urdf/c.xml", "<mujoco><mesh file='../../../secret.stl'/></mujoco>")

    def test_the_home_folder_is_no_package(self):
        self.write(".git/HEAD", "dotfiles")
        self.write("package.xml", "<package/>")
        self.write("secret.stl", "SECRET")
        with mock.patch.dict(os.environ, HOME=self.folder.name):
            for folder in ("Downloads", "Downloads/robot", "urdf"):
                up = "../" * (folder.count("/") + 1)
                self.refused(f"{folder}/evil.xml", f"<mujoco><mesh file='{up}secret.stl'/></mujoco>")

    def test_packages_that_a_urdf_document_names_are_packages(self):
        document = "<robot><link><collision><geometry><mesh filename='{}'/></geometry></collision></link></robot>"
        self.write("home/mesh.stl", "SECRET")
        self.write("home/arm/package.xml", "<package/>")
        self.write("home/arm/meshes/a.stl", "a")
        self.write("home/arm/notes.dae/b.txt", "no mesh")
        for name in ("package://home/mesh.stl", "package://arm/../mesh.stl", "../mesh.stl", "home/mesh.stl",
                     f"file://{self.folder.name}/home/mesh.stl"):
            self.assertEqual(self.refused("home/models/evil.urdf", document.format(name)),
                             (f'<mesh filename="{name}">', "home/mesh.stl"))
        main = self.write("home/models/robot.urdf", document.format("package://arm/meshes/a.stl"))
        self.assertEqual(self.read(main), {"package://arm/meshes/a.stl": b"a"})

    def test_one_folder_in_the_place_of_a_list_is_refused(self):
        main = self.write("robot.xml", "<mujoco/>")
        with self.assertRaisesRegex(TypeError, "file_folders"):
            axion.read_mjcf(main, "/")


if __name__ == "__main__":
    unittest.main()
