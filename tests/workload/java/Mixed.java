// SPDX-License-Identifier: GPL-2.0-or-later
// Mixed: what tests/workload/mixed_truth.py calls in Java.
final class Mixed {
  static native void python();
  static native void said();

  static void calls() { again(3); }
  static void again(int n) {
    if (n > 0) again(n - 1);
    else python();
  }
  static void burn() {
    said();
    for (int n = 0; n >= 0; ) n = n + 1 & 0xffff;
  }
  static void nap() throws InterruptedException {
    said();
    for (;;) Thread.sleep(2);
  }
}
