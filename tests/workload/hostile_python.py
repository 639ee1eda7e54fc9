# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile_python KIND: an interpreter that lies about its frames to whoever reads its memory. Its chain of
frames leads back to where it began (loop), has 20 000 frames of its own making (chain), or is another one with
other code objects each time (names). Prints a line, and computes in C until it is killed."""
import ctypes
import hashlib
import sys

KIND = sys.argv[1]
N = 20000
CODE_EXTRA = 64  # bytes that sys.getsizeof() may not count


def word(address):
    return ctypes.c_uint64.from_address(address)


# Where a frame has the one before, and its code; how large it is.
PREVIOUS, CODE, SIZE = {(3, 10): (24, 32, 400), (3, 11): (48, 32, 80)}.get(sys.version_info[:2], (8, 0, 80))
frame = sys._getframe()
own = id(frame) if sys.version_info[:2] == (3, 10) else word(id(frame) + 24).value
chain = ctypes.create_string_buffer(ctypes.string_at(own, SIZE) * N)
first = ctypes.addressof(chain)
code_size = sys.getsizeof(frame.f_code) + CODE_EXTRA
codes = ctypes.create_string_buffer(ctypes.string_at(id(frame.f_code), code_size) * N)
for i in range(N):
    word(first + i * SIZE + PREVIOUS).value = first + (i + 1) % N * SIZE
    if KIND == "names":
        word(first + i * SIZE + CODE).value = ctypes.addressof(codes) + i * code_size
word(own + PREVIOUS).value = own if KIND == "loop" else first
print("ready", flush=True)
k = 0
while True:
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2000)
    if KIND == "names":
        k += 173
        word(own + PREVIOUS).value = first + k % N * SIZE
