//! Copies that reuse memory.

/// Implements `Clone` for a struct whose copies are to reuse the memory of what they replace, by
/// `clone_from`. All fields are named, so that a new one cannot be forgotten.
macro_rules! clone_in_place {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                let $type { $($field),+ } = self;
                $type { $($field: $field.clone()),+ }
            }

            fn clone_from(&mut self, other: &Self) {
                let $type { $($field),+ } = other;
                $(self.$field.clone_from($field);)+
            }
        }
    };
}

pub(crate) use clone_in_place;
