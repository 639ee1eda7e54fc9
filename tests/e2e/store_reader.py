# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of stores, written only from docs/store.md."""
import ctypes
import itertools
import struct
import zlib
from pathlib import Path


def unpack(packed, size):
    zstd, to = ctypes.CDLL("libzstd.so.1"), ctypes.create_string_buffer(size + 1)
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    assert zstd.ZSTD_decompress(to, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed))) == size
    return to.raw[:size]


class Numbers:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def steps(self, n):
        value, values = 0, []
        for _ in range(n):
            step = self.take()
            values.append(value := value + (-(step + 1 >> 1) if step % 2 else step >> 1))
        return values

    def column(self, n):
        return [self.take() for _ in range(n)]

    def span(self, known, damaged):
        """How many items of a dictionary follow those that are known."""
        first, n = self.take(), self.take()
        known += [damaged] * (first - len(known))
        return n

    def items(self, known, damaged, *columns):
        n = self.span(known, damaged)
        known += zip(*[column(n) for column in columns])


class Segment:
    def __init__(self, path):
        self.data = Path(path).read_bytes()
        magic, version, self.kind, self.level, self.start, self.boot, _, crc = struct.unpack(
            "<8sIIQQ16s12sI", self.data[:64])
        assert magic == b"BPFFLAME" and version == 3 and crc == zlib.crc32(self.data[:60])
        self.strings, self.modules, self.nodes = ["", "[damaged]"], [(0, 0, 0)], [(0, 0)]
        self.frames, self.processes = [(0, 0, 1, 0, 0)], [(0, 0, 1, 0, 0)]

    def windows(self):
        """Yields (fields, [(process, node, cause, idle, end, count, microseconds)]) for each whole window."""
        at = 64
        while (at := self.data.find(b"BFWI", at)) >= 0 and at + 40 <= len(self.data):
            _, n, size, _, _, _, sum_of_packed, sum_of_head = struct.unpack("<4sIIIQQII", self.data[at:at + 40])
            if sum_of_head != zlib.crc32(self.data[at:at + 36]):
                at += 1
                continue
            packed, at = self.data[at + 40:at + 40 + n], at + 40 + n
            if len(packed) == n and sum_of_packed == zlib.crc32(packed):
                yield self.window(Numbers(unpack(packed, size)))

    def window(self, numbers):
        fields = [numbers.take() for _ in range(numbers.take())]
        column, steps = numbers.column, numbers.steps
        lengths = column(numbers.span(self.strings, "[damaged]"))
        paths, high = column(lengths.count(0)), column(lengths.count(0))
        offsets = [(part << 16) + int.from_bytes(numbers.bytes(2), "little") for part in high]
        for length in lengths:
            self.strings.append(numbers.bytes(length).decode(errors="replace") if length else
                                f"[{self.strings[paths.pop(0)].rpartition('/')[2]}+{offsets.pop(0):#x}]")
        numbers.items(self.modules, (0, 1, 0), column, column, column)
        numbers.items(self.frames, self.frames[0], column, column, steps, steps, column)
        numbers.items(self.nodes, (0, 0), lambda n: [len(self.nodes) + i - numbers.take() for i in range(n)], steps)
        n = numbers.span(self.processes, self.processes[0])
        pids, starts, kinds = steps(n), steps(n), column(n)
        texts = list(zip(*[column(max(kinds, default=-1) + 1) for _ in range(3)]))
        self.processes += [(pid, start, *texts[kind]) for pid, start, kind in zip(pids, starts, kinds)]
        n = numbers.take()
        nodes, processes = list(itertools.accumulate(column(n))), steps(n)
        causes, ends = numbers.bytes(n), numbers.bytes(n)
        counts, times = column(n), column(n)
        assert numbers.at == len(numbers.data)
        return fields, [(p, s, c & 0x7f, c >= 0x80, e, k, t) for p, s, c, e, k, t in
                        zip(processes, nodes, causes, ends, counts, times)]

    def stack(self, node):
        """Names, root first."""
        names = []
        while node:
            node, frame = self.nodes[node]
            names.append(self.strings[self.frames[frame][2]])
        return names[::-1]
