# SPDX-License-Identifier: GPL-2.0-or-later
"""The stack that BPF programs take, read from the object file as verifiers before Linux 6.13 add it
up: that of all functions that call each other, callbacks included."""
import struct
from pathlib import Path

CALL, LOAD_64, MOVE, ADD = 0x85, 0x18, 0xbf, 0x07
FRAME, OF_BPF = 10, 1  # the frame pointer; a call of another BPF function
SYMBOL_TABLE, RELOCATIONS, FUNCTION, SECTION = 2, 9, 2, 3


class Object:
    """Of an ELF file: its functions, and what they refer to, by (section, offset)."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        at, = struct.unpack_from("<Q", self.data, 0x28)
        _, n = struct.unpack_from("<2H", self.data, 0x3a)
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + 64 * i) for i in range(n)]
        table = next(section for section in self.sections if section[1] == SYMBOL_TABLE)
        # name, type, visibility, section, value, size
        symbols = [struct.unpack_from("<IBBHQQ", self.data, at)
                   for at in range(table[4], table[4] + table[5], 24)]
        names = self.sections[table[6]][4]
        self.functions = {(symbol[3], symbol[4]): (self.text(names + symbol[0]), symbol[5])
                          for symbol in symbols if symbol[1] & 15 == FUNCTION}
        self.references = {}
        for section in self.sections:
            for at in range(section[4], section[4] + section[5], 16) if section[1] == RELOCATIONS else ():
                offset, info = struct.unpack_from("<QQ", self.data, at)
                self.references[section[7], offset] = symbols[info >> 32]

    def text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def instructions(self, section, start, size):
        """Each one's place, and its code, destination, source, offset and immediate."""
        base = self.sections[section][4]
        at = start
        while at < start + size:
            code, registers, offset, immediate = struct.unpack_from("<BBhi", self.data, base + at)
            yield at, code, registers & 15, registers >> 4, offset, immediate
            at += 16 if code == LOAD_64 else 8

    def target(self, section, at, code, source, immediate):
        """The function that the instruction calls or takes the address of, or None."""
        symbol = self.references.get((section, at))
        if code == CALL and source == OF_BPF:
            beyond = 8 * (immediate + 1)
        elif code == LOAD_64:
            beyond = immediate
        else:
            return None
        if not symbol:
            place = section, at + beyond
        else:
            place = symbol[3], symbol[4] + (beyond if symbol[1] & 15 == SECTION else 0)
        return place if place in self.functions else None


def frames_of(path):
    """By function: its name, its stack in bytes and which functions it calls."""
    file = Object(path)
    frames = {}
    for (section, start), (name, size) in file.functions.items():
        deepest, calls, copies = 1, set(), set()
        for at, code, destination, source, offset, immediate in file.instructions(section, start, size):
            kind = code & 7
            if (kind in (2, 3) and destination == FRAME) or (kind == 1 and source == FRAME):
                deepest = max(deepest, -offset)
            if code == MOVE and source == FRAME:
                copies.add(destination)
            elif code == ADD and destination in copies:
                deepest = max(deepest, -immediate)
                copies.remove(destination)
            target = file.target(section, at, code, source, immediate)
            if target:
                calls.add(target)
        frames[section, start] = name, -(-deepest // 32) * 32, calls
    return frames


def deepest_stacks(path):
    """By function: the most stack it needs with those it calls, and the calls that need it."""
    frames, known = frames_of(path), {}

    def deepest(place):
        if place not in known:
            name, own, calls = frames[place]
            below, chain = max(map(deepest, calls), default=(0, []))
            known[place] = own + below, [f"{name} {own}", *chain]
        return known[place]

    return {frames[place][0]: deepest(place) for place in frames}
