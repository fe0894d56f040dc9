//! The hyperbolic tangent, the same to the last bit on every machine: a ranking must not depend on whose mathematics
//! library is linked. It has no branches, so that a whole column goes through the vector unit.

use std::f64::consts::LOG2_E;

/// Beyond this the result is 1 in double precision.
const LIMIT: f64 = 20.0;
/// Adding it rounds to a whole number, which then stands in the lowest bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The leading bits of ln 2, so that small multiples of it are exact, and the rest.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1/13!, 1/12!, ... 1/2!: with an argument of at most ln 2 / 2 the next one is beyond the last bit.
const SERIES: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// tanh x = e / (e + 2) with e = exp(2x) - 1.
#[inline]
pub(crate) fn tanh(x: f64) -> f64 {
    let doubled = 2.0 * x.clamp(-LIMIT, LIMIT);
    let rounded = doubled * LOG2_E + ROUND;
    let times = rounded - ROUND;
    let rest = (doubled - times * LN_2_HIGH) - times * LN_2_LOW;
    let series = SERIES.iter().fold(0.0, |sum, factor| sum * rest + factor);
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    let grown = power * (rest + rest * rest * series) + (power - 1.0);
    grown / (grown + 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn document_60_section_3_10_e2_it_saturates_to_exactly_one() {
        for x in [19.1, 50.0, 55.0, 60.0, 99_000.0, f64::MAX, f64::INFINITY] {
            assert_eq!((tanh(x).to_bits(), tanh(-x).to_bits()), (1.0_f64.to_bits(), (-1.0_f64).to_bits()), "{x}");
        }
    }

    #[test]
    fn nothing_stays_nothing_and_no_number_stays_none() {
        assert_eq!((tanh(0.0).to_bits(), tanh(-0.0)), (0, 0.0));
        assert!(tanh(f64::NAN).is_nan());
        assert!((LN_2_HIGH + LN_2_LOW - std::f64::consts::LN_2).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn it_is_the_tangent_of_the_library(x in prop_oneof![-1.0_f64..1.0, -25.0_f64..25.0, -1e-6_f64..1e-6]) {
            let expected = x.tanh();
            prop_assert!((tanh(x) - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{x}: {} {expected}", tanh(x));
        }

        #[test]
        fn more_is_never_less(x in -20.0_f64..20.0, more in 1e-12_f64..1.0) {
            prop_assert!(tanh(x) <= tanh(x + more));
        }
    }
}
