#!/usr/bin/env python3
"""models.py on a folder of its own: what loads, what does not and why, and what is only included.

Usage: models_smoke_test.py BIN
"""

import json
import pathlib
import subprocess
import sys
import tempfile

BALL = '<mujoco><worldbody><include file="parts/ball.xml"/></worldbody>{}</mujoco>'
PART = '<mujoco><body name="ball" pos="0 0 1"><freejoint/><geom size=".1"/></body></mujoco>'
STILL = ('<mujoco><worldbody><body><joint/><geom size=".1"/><site name="a" pos="0 0 1"/><site name="b"/></body></worldbody>'
         '<tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon><actuator><motor tendon="t"/></actuator></mujoco>')
PLUGIN = '<actuator><plugin joint="j"/></actuator>'


def check_pairs(script):
    """Bodies without a name are found by mass and start, however either side counts them."""
    sys.path.insert(0, str(script.parent))
    import models  # pylint: disable=import-outside-toplevel
    bodies = (('', 2, [0, 0, 1]), ('arm', 1, [0, 0, 0]), ('', 1, [0, 0, 0]), ('', 1, [0, 0, 1]), ('', 1, [0, 0, 1]))
    theirs = [{'name': name, 'mass': mass, 'first': first, 'last': first} for name, mass, first in bodies]
    pose = [0, 0, 1 + 1e-6, 1, 0, 0, 0] * 3 + [0, 0, 0, 1, 0, 0, 0] * 2 + [5, 0, 0, 1, 0, 0, 0]
    found = models.pairs(['body0', 'body1', 'body2', 'body3', 'arm', 'body5'], [1, 2, 1, 1, 7, 1], pose, theirs)
    places = [None if body is None else [body is other for other in theirs].index(True) for body in found]
    assert places == [3, 0, 4, 2, 1, None], places


def main():
    script = pathlib.Path(__file__).resolve().with_name('models.py')
    check_pairs(script)
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / 'models'
        (models / 'parts').mkdir(parents=True)
        (models / 'parts/ball.xml').write_text(PART, encoding='utf-8')
        (models / 'good.xml').write_text(BALL.format(''), encoding='utf-8')
        (models / 'wet.xml').write_text(BALL.format('<option collision="predefined"/>' + PLUGIN), encoding='utf-8')
        (models / 'wrong.xml').write_text(BALL.format('<size njmax="1"/><wrong/>'), encoding='utf-8')
        (models / 'still.xml').write_text(STILL, encoding='utf-8')
        (models / 'other.xml').write_text('<robot><link/></robot>', encoding='utf-8')
        report = pathlib.Path(folder) / 'report.json'
        command = [sys.executable, '-B', script, models, '--bin', sys.argv[1], '--seconds', '0.2', '--alone', '--json', report]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        entries = {entry['name']: entry for entry in json.loads(report.read_text(encoding='utf-8'))}
    assert set(entries) == {'good.xml', 'still.xml', 'wet.xml', 'wrong.xml'}, set(entries)
    good = entries['good.xml']['answer']
    assert good['loads'] and good['rest']['steps'] == 100 and good['rest']['converged'] == 1, good
    fallen = 1 - good['rest']['pose'][2]
    assert abs(fallen - 9.81 * 0.2 ** 2 / 2) < 3e-3, fallen
    before, after = good['rest']['energy']
    assert abs(after - before) < 1e-2 * abs(before), (before, after)
    still = entries['still.xml']['answer']  # pulled along a string whose length is constant
    assert still['loads'] and still['rest']['converged'] == 1 and still['random']['converged'] == 1, still
    wet = entries['wet.xml']
    assert not wet['answer']['loads'] and len(wet['reasons']) == 2, wet
    assert any('option.collision' in why for why in wet['reasons']) and any('plugin' in why for why in wet['reasons']), wet
    assert 'refused_always' in entries['wrong.xml']['answer'], entries['wrong.xml']
    assert '| models | 4 | 2 |' in done.stdout, done.stdout


if __name__ == '__main__':
    main()
