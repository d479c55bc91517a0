"""Steps a batch for ever, far ahead of the answers: a client that is to be killed. Usage: stream_client.py ADDRESS BATCH stream|calls"""

import itertools
import sys

import axion

client = axion.Client(sys.argv[1])
batch = client.get_batch(sys.argv[2])
if sys.argv[3] == 'stream':
    with batch.stream() as stream:
        for i, _ in enumerate(stream.map(({'steps': 1 + n % 3} for n in itertools.count()), in_flight=16)):
            if i == 0:
                print('ready', flush=True)
else:
    for i in itertools.count():
        batch.step(steps=1 if i == 0 else 200)
        if i == 0:
            print('ready', flush=True)
