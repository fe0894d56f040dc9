//! An inventory and the arithmetic of capacity. Only this module multiplies by the ratio.

/// The inventory of a provider for one class. Integers are 0 to 2147483647, in the unit of the class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inventory {
    pub total: u64,
    pub reserved: u64,
    pub min_unit: u64,
    pub max_unit: u64,
    pub step_size: u64,
    pub allocation_ratio: f64,
}

impl Inventory {
    pub const LARGEST: u64 = 2_147_483_647;

    /// The most that can be in use, before it is cut to an integer.
    #[allow(clippy::cast_precision_loss, reason = "integers are below 2^31")]
    fn limit(&self) -> f64 {
        (self.total as f64 - self.reserved as f64) * self.allocation_ratio
    }

    /// The reported capacity: [`Self::limit`] without its fraction. Negative if more is reserved than the total.
    #[allow(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    pub fn capacity(&self) -> i64 {
        self.limit() as i64
    }

    /// Whether `amount` fits beside `used`; amounts that no integer holds never do.
    pub fn has_capacity(&self, used: u64, amount: u64) -> bool {
        #[allow(
            clippy::cast_precision_loss,
            reason = "used is a sum of amounts below 2^31; the reference compares floats"
        )]
        used.checked_add(amount).is_some_and(|sum| sum as f64 <= self.limit())
    }

    pub fn allows(&self, amount: u64) -> bool {
        self.min_unit <= amount && amount <= self.max_unit && amount.is_multiple_of(self.step_size)
    }

    pub fn fits(&self, used: u64, amount: u64) -> bool {
        self.allows(amount) && self.has_capacity(used, amount)
    }
}
