// SPDX-License-Identifier: GPL-2.0-or-later
#[test]
fn integration_test_burns() {
    hot_path::tell("test");
    assert!(hot_path::burn(0.5) > 0);
}

#[test]
fn another() {
    println!("another ran");
}
