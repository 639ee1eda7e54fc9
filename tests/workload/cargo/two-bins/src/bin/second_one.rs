// SPDX-License-Identifier: GPL-2.0-or-later
fn main() {
    hot_path::tell("second_one");
    hot_path::burn(0.3);
}
