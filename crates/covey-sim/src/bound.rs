//! Lower bounds on the mean coflow completion time.
