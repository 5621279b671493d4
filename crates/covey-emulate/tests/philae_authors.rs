//! Results of the simulator of Philae's authors.

use crate::common::facebook;
use covey_emulate::philae_authors::{Order, Parameters, Ties, run};
use covey_facebook_test::facebook_test;

/// Mean and median CCT in milliseconds, on the public Facebook trace.
fn facebook_ms(order: Order, ties: Ties) -> [f64; 2] {
    let with = Parameters { order, ties, ..Parameters::default() };
    let outcome = run(&facebook(), with).unwrap_or_else(|error| panic!("{error}"));
    let mut ccts: Vec<f64> = outcome.coflows.iter().map(|c| (c.cct_s() * 1e3).round()).collect();
    ccts.sort_by(f64::total_cmp);
    let mean = ccts.iter().sum::<f64>() / ccts.len() as f64;
    [mean.round(), (ccts[262] + ccts[263]) / 2.0]
}

#[facebook_test]
fn order_d_as_the_program_prints_it() {
    // 28.17 s and 0.336 s.
    let ms = facebook_ms(Order::D, Ties::Reversed);
    assert_eq!(ms, [28_173.0, 336.0]);
}

#[facebook_test]
fn order_d_with_other_ties() {
    let ms = facebook_ms(Order::D, Ties::ByPort);
    assert_eq!(ms, [28_253.0, 336.0]);
}

#[facebook_test]
fn orders_a_and_b() {
    let ms = facebook_ms(Order::A, Ties::Reversed);
    assert_eq!(ms, [30_649.0, 336.0]);
    let ms = facebook_ms(Order::B, Ties::Reversed);
    assert_eq!(ms, [35_551.0, 336.0]);
}

#[facebook_test("takes ten seconds; make slow WHAT=ignored")]
fn order_c_is_fifo() {
    let [mean, _] = facebook_ms(Order::C, Ties::Reversed);
    assert_eq!(mean, 345_771.0);
}
