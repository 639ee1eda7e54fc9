# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of stores, written only from docs/store.md."""
import ctypes
import struct
import zlib
from pathlib import Path


class Buffer(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("size", ctypes.c_size_t), ("at", ctypes.c_size_t)]


class Stream:
    """Unpacks a zstd stream piece by piece."""

    def __init__(self):
        self.zstd = ctypes.CDLL("libzstd.so.1")
        self.zstd.ZSTD_createDStream.restype = ctypes.c_void_p
        self.zstd.ZSTD_decompressStream.restype = ctypes.c_size_t
        self.stream = ctypes.c_void_p(self.zstd.ZSTD_createDStream())
    def unpack(self, packed, size):
        to, source = ctypes.create_string_buffer(size + 1), ctypes.create_string_buffer(packed)
        out, into = Buffer(ctypes.addressof(to), size, 0), Buffer(ctypes.addressof(source), len(packed), 0)
        while into.at < len(packed) or out.at < size:
            before = into.at, out.at
            self.zstd.ZSTD_decompressStream(self.stream, ctypes.byref(out), ctypes.byref(into))
            assert (into.at, out.at) != before
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

    def items(self, n):
        return [tuple(self.take() for _ in range(n)) for _ in range(self.take())]


class Segment:
    def __init__(self, path):
        self.data = Path(path).read_bytes()
        magic, version, self.kind, self.level, self.start, self.boot, _, crc = struct.unpack(
            "<8sIIQQ16s12sI", self.data[:64])
        assert magic == b"BPFFLAME" and version == 1 and crc == zlib.crc32(self.data[:60])
        self.strings, self.modules, self.nodes = [""], [(0, 0, 0)], [(0, None)]
        self.frames, self.processes = [], []

    def windows(self):
        """Yields (fields, [(process, node, cause, idle, end, count, microseconds)]) for each
        complete window."""
        at, stream = 64, Stream()
        while at + 32 <= len(self.data):
            n, size, _, _, _, crc = struct.unpack("<IIQQII", self.data[at:at + 32])
            packed = self.data[at + 32:at + 32 + n]
            if len(packed) < n or crc != zlib.crc32(self.data[at:at + 28] + packed):
                return
            yield self.window(Numbers(stream.unpack(packed, size)))
            at += 32 + n

    def window(self, numbers):
        fields = [numbers.take() for _ in range(numbers.take())]
        for _ in range(numbers.take()):
            self.strings.append(numbers.bytes(numbers.take()).decode(errors="replace"))
        self.modules += numbers.items(3)
        self.frames += numbers.items(5)
        for back, frame in numbers.items(2):
            self.nodes.append((len(self.nodes) - back, frame))
        self.processes += numbers.items(5)
        n, process, node, processes, nodes = numbers.take(), 0, 0, [], []
        for _ in range(n):
            processes.append(process := process + numbers.take())
        for _ in range(n):
            step = numbers.take()
            nodes.append(node := node + (-(step + 1 >> 1) if step % 2 else step >> 1))
        causes, ends = numbers.bytes(n), numbers.bytes(n)
        counts, times = [numbers.take() for _ in range(n)], [numbers.take() for _ in range(n)]
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
