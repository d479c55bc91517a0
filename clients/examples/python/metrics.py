"""Reads a Prometheus text page and says its axion_* metrics in a few lines."""

import collections
import math
import re
import urllib.request

_SAMPLE = re.compile(r'^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def scrape(url, timeout=5.0):
    """Samples of a metrics page: list of (name, dict of labels, value). Raises OSError if there is no page."""
    with urllib.request.urlopen(url, timeout=timeout) as page:
        return parse(page.read().decode())


def parse(text):
    """As scrape, of the text itself."""
    samples = []
    for line in text.splitlines():
        match = None if line.startswith("#") else _SAMPLE.match(line)
        if match:
            samples.append((match["name"], dict(_LABEL.findall(match["labels"] or "")), float(match["value"])))
    return samples


def _words(labels):
    return ", ".join(f"{name} {value}" for name, value in sorted(labels.items()))


def _quantile(buckets, fraction):
    """Upper bound of the bucket in which a fraction of the observations is reached."""
    ordered = sorted(buckets)
    total = ordered[-1][1]
    return next(bound for bound, count in ordered if count >= fraction * total)


def _value_lines(values):
    """A line for each value; the series of one name that are zero share a line."""
    lines, zeros = [], collections.Counter()
    series = collections.Counter(name for name, _, _ in values)
    for name, words, value in sorted(values):
        if value == 0 and series[name] > 1:
            zeros[name] += 1
        else:
            lines.append(f"{name:<36} {words:<42} {value:g}")
    lines += [f"{name:<36} {count} of its {series[name]} series are 0" for name, count in zeros.items()]
    return sorted(lines)


def digest(samples, prefix="axion_"):
    """Lines for people: values of gauges and counters; count, mean and quantiles of histograms."""
    values, histograms = [], collections.defaultdict(lambda: {"buckets": [], "sum": 0.0, "count": 0.0})
    for name, labels, value in samples:
        if not name.startswith(prefix):
            continue
        base, _, part = name.rpartition("_")
        if part == "bucket":
            bound = float(labels.pop("le"))
            histograms[base, _words(labels)]["buckets"].append((bound, value))
        elif part in ("sum", "count"):
            histograms[base, _words(labels)][part] = value
        else:
            values.append((name, _words(labels), value))
    lines = _value_lines(values)
    for (name, words), histogram in sorted(histograms.items()):
        if not histogram["count"]:
            lines.append(f"{name:<36} {words:<42} nothing observed")
            continue
        bounds = [_quantile(histogram["buckets"], fraction) for fraction in (0.5, 0.99)]
        shown = ["above the last bucket" if math.isinf(bound) else f"<= {bound:g}" for bound in bounds]
        lines.append(f"{name:<36} {words:<42} {histogram['count']:.0f} observed, mean "
                     f"{histogram['sum'] / histogram['count']:.4g}, median {shown[0]}, 99 % {shown[1]}")
    return lines
