# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof files by their meaning: reads and writes protobuf's encoding by hand, and resolves ids and
indexes, so that two files are equal if all fields of everything in them are.
"""
import gzip

# Fields of profile.proto: {message: {number: (name, kind)}}; kind: "n" a number, "s" the index of a
# string, "b" bytes, or a message; "*" after it if it is repeated.
SCHEMA = {
    "Profile": {1: ("sample_type", "ValueType*"), 2: ("sample", "Sample*"),
                3: ("mapping", "Mapping*"), 4: ("location", "Location*"),
                5: ("function", "Function*"), 6: ("string_table", "b*"), 7: ("drop_frames", "s"),
                8: ("keep_frames", "s"), 9: ("time_nanos", "n"), 10: ("duration_nanos", "n"),
                11: ("period_type", "ValueType"), 12: ("period", "n"), 13: ("comment", "s*"),
                14: ("default_sample_type", "s")},
    "ValueType": {1: ("type", "s"), 2: ("unit", "s")},
    "Sample": {1: ("location_id", "n*"), 2: ("value", "n*"), 3: ("label", "Label*")},
    "Label": {1: ("key", "s"), 2: ("str", "s"), 3: ("num", "n"), 4: ("num_unit", "s")},
    "Mapping": {1: ("id", "n"), 2: ("memory_start", "n"), 3: ("memory_limit", "n"),
                4: ("file_offset", "n"), 5: ("filename", "s"), 6: ("build_id", "s"),
                7: ("has_functions", "n"), 8: ("has_filenames", "n"),
                9: ("has_line_numbers", "n"), 10: ("has_inline_frames", "n")},
    "Location": {1: ("id", "n"), 2: ("mapping_id", "n"), 3: ("address", "n"),
                 4: ("line", "Line*"), 5: ("is_folded", "n")},
    "Line": {1: ("function_id", "n"), 2: ("line", "n")},
    "Function": {1: ("id", "n"), 2: ("name", "s"), 3: ("system_name", "s"), 4: ("filename", "s"),
                 5: ("start_line", "n")},
}


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _number(value):
    return value - (1 << 64) if value >> 63 else value


def decode(data, message="Profile"):
    fields = {name: [] if kind.endswith("*") else None
              for name, kind in SCHEMA[message].values()}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        name, kind = SCHEMA[message][tag >> 3]
        value, at = _varint(data, at)
        values = [value]
        if tag & 7 == 2:
            part = data[at:at + value]
            at += value
            if kind[0] in "ns":
                values, inside = [], 0
                while inside < len(part):
                    value, inside = _varint(part, inside)
                    values.append(value)
            else:
                values = [part if kind[0] == "b" else decode(part, kind.rstrip("*"))]
        if kind[0] in "ns":
            values = [_number(value) for value in values]
        if kind.endswith("*"):
            fields[name] += values
        else:
            fields[name] = values[-1]
    return fields


def _encode_varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


class Writer:
    """Encodes messages from dictionaries: {"name": value}; strings are given as text."""

    def __init__(self):
        self.strings = [""]

    def index(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def message(self, name, fields):
        out = b""
        for number, (field, kind) in SCHEMA[name].items():
            values = fields.get(field, [])
            for value in values if isinstance(values, list) else [values]:
                if kind[0] in "ns":
                    value = self.index(value) if kind[0] == "s" else value
                    out += _encode_varint(number << 3) + _encode_varint(value)
                else:
                    part = value if kind[0] == "b" else self.message(kind.rstrip("*"), value)
                    out += _encode_varint(number << 3 | 2) + _encode_varint(len(part)) + part
        return out

    def file(self, fields):
        out = self.message("Profile", fields)
        return out + self.message("Profile", {"string_table": [t.encode() for t in self.strings]})


def read(path):
    data = path.read_bytes()
    return decode(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Meaning:
    """The meaning of a file. Merges samples that differ only in their values."""

    def __init__(self, path):
        self.fields = fields = read(path)
        self.texts = [text.decode() for text in fields["string_table"]]
        functions = {f["id"]: self.resolve("Function", f) for f in fields["function"]}
        mappings = {m["id"]: self.resolve("Mapping", m) for m in fields["mapping"]}
        self.locations = {}
        for location in fields["location"]:
            lines = [(functions.get(line["function_id"]), line["line"] or 0)
                     for line in location["line"]]
            self.locations[location["id"]] = (
                mappings.get(location["mapping_id"]), location["address"] or 0, tuple(lines),
                bool(location["is_folded"]))
        self.samples = {}
        for sample in fields["sample"]:
            self.add(sample)
        self.whole = self.resolve("Profile", {
            **fields, "sample": [], "mapping": [], "location": [], "function": [],
            "string_table": [], "sample_type": [], "comment": []})
        self.types = [self.resolve("ValueType", kind) for kind in fields["sample_type"]]
        self.comments = sorted(self.texts[comment] for comment in fields["comment"])
        self.main = mappings[fields["mapping"][0]["id"]] if fields["mapping"] else None

    def resolve(self, message, fields):
        """All fields but the id, in a fixed order, hashable."""
        out = []
        for name, kind in SCHEMA[message].values():
            value = fields[name]
            if name == "id" or isinstance(value, list):
                continue
            if isinstance(value, dict):
                value = self.resolve(kind, value)
            elif kind == "s":
                value = self.texts[value or 0]
            out.append((name, value or (None if kind[0] not in "ns" else 0)))
        return tuple((name, value) for name, value in out if value)

    def add(self, sample):
        labels = tuple(sorted(self.resolve("Label", label) for label in sample["label"]))
        key = tuple(self.locations[number] for number in sample["location_id"]), labels
        if any(sample["value"]):
            before = self.samples.get(key, [0] * len(sample["value"]))
            self.samples[key] = [a + b for a, b in zip(before, sample["value"])]

    def differences(self, other):
        """The differences between two files: a list of texts."""
        found = [f"{name}: {getattr(self, name)} {getattr(other, name)}"
                 for name in ("whole", "types", "comments", "main")
                 if getattr(self, name) != getattr(other, name)]
        for key in {*self.samples, *other.samples}:
            if self.samples.get(key) != other.samples.get(key):
                found.append(f"{key}: {self.samples.get(key)} {other.samples.get(key)}")
        return found
