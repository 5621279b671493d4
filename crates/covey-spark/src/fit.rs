//! Fits the bytes between pairs of hosts to what each host sends and receives.
//!
//! Proportional fitting scales rows and columns in turn until their sums are those that are known.
//! Of all matrices with these sums it finds the one that assumes least. A host sends nothing to
//! itself: the diagonal stays 0.

/// Rounds of fitting at most. Real coflows need fewer than 200.
const MAX_ROUNDS: u32 = 10_000;
/// The relative error of a sum at which fitting ends.
const TOLERANCE: f64 = 1e-12;

/// Whole bytes from each host (row) to each other host (column), whose rows add up to `sent` and
/// whose columns to `received`, as near as possible to the fitted matrix. The sums of both must be
/// equal. `None` if no matrix with an empty diagonal has these sums: a host sends more than all
/// others receive.
pub fn pairs(sent: &[u64], received: &[u64]) -> Option<Vec<Vec<u64>>> {
    let hosts = sent.len();
    let off_diagonal = |row: usize, column: usize| row != column;
    let mut matrix: Vec<Vec<f64>> = (0..hosts)
        .map(|row| (0..hosts).map(|column| f64::from(off_diagonal(row, column))).collect())
        .collect();
    for _ in 0..MAX_ROUNDS {
        let rows: Vec<f64> = matrix.iter().map(|row| row.iter().sum()).collect();
        for (row, (&is, &should)) in matrix.iter_mut().zip(rows.iter().zip(sent)) {
            row.iter_mut().for_each(|cell| *cell *= scale(is, should));
        }
        let columns = column_sums(&matrix);
        for row in &mut matrix {
            for (cell, (&is, &should)) in row.iter_mut().zip(columns.iter().zip(received)) {
                *cell *= scale(is, should);
            }
        }
        let error = |row: &[f64], should: u64| (row.iter().sum::<f64>() - should as f64).abs();
        let fits =
            |(row, &should): (&Vec<f64>, &u64)| error(row, should) <= TOLERANCE * should as f64;
        if matrix.iter().zip(sent).all(fits) {
            break;
        }
    }
    round(&matrix, sent, received, off_diagonal)
}

/// The factor that makes a sum what it should be.
fn scale(is: f64, should: u64) -> f64 {
    if is > 0.0 { should as f64 / is } else { 0.0 }
}

fn column_sums(matrix: &[Vec<f64>]) -> Vec<f64> {
    let width = matrix.first().map_or(0, Vec::len);
    let mut sums = vec![0.0; width];
    for row in matrix {
        sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
    }
    sums
}

/// Splits a column of bytes from each host among tasks that read `reads` bytes each: rows are
/// hosts, columns tasks. The sums of both must be equal.
pub fn split(column: &[u64], reads: &[u64]) -> Vec<Vec<u64>> {
    let total: u128 = reads.iter().map(|&bytes| u128::from(bytes)).sum();
    let part = |row: u64, read: u64| row as f64 * (read as f64 / (total.max(1)) as f64);
    let matrix: Vec<Vec<f64>> =
        column.iter().map(|&row| reads.iter().map(|&read| part(row, read)).collect()).collect();
    round(&matrix, column, reads, |_, _| true).expect("any table without gaps has any sums")
}

/// Shares out a whole number in proportion to weights: each gets its part rounded down, and what
/// remains goes to the largest remainders, of equal ones to the first.
pub(crate) fn apportion(weights: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|weight| total as f64 * (weight / sum)).collect();
    let mut parts: Vec<u64> = exact.iter().map(|part| part.floor() as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] > 0.0).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let mut rest = i128::from(total) - parts.iter().map(|&part| i128::from(part)).sum::<i128>();
    for &k in order.iter().cycle() {
        match rest {
            0 => break,
            1.. => (parts[k], rest) = (parts[k] + 1, rest - 1),
            // The parts of huge numbers are not exact.
            _ if parts[k] > 0 => (parts[k], rest) = (parts[k] - 1, rest + 1),
            _ => {}
        }
    }
    parts
}

/// Rounds a matrix to whole numbers with exactly these sums. Cells that are not `allowed` stay 0.
/// `None` if there is no such matrix.
fn round(
    matrix: &[Vec<f64>],
    rows: &[u64],
    columns: &[u64],
    allowed: impl Fn(usize, usize) -> bool,
) -> Option<Vec<Vec<u64>>> {
    let mut table = Table::new(rows, columns);
    let mut cells: Vec<(f64, usize, usize)> = Vec::new();
    for (row, of_row) in matrix.iter().enumerate() {
        for (column, cell) in of_row.iter().enumerate().filter(|(k, _)| allowed(row, *k)) {
            table.give(row, column, cell.floor() as u64);
            cells.push((cell.fract(), row, column));
        }
    }
    // Less than one is missing in each cell, up to the error of fitting: larger remainders go
    // first.
    cells.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    for &(_, row, column) in cells.iter().filter(|(rest, ..)| *rest > 0.0) {
        table.give(row, column, 1);
    }
    for &(_, row, column) in &cells {
        table.give(row, column, u64::MAX);
    }
    // What is missing now belongs to cells that are not allowed.
    for row in 0..rows.len() {
        for column in (0..columns.len()).filter(|&column| !allowed(row, column)) {
            while table.missing(row, column) > 0 {
                table.exchange(row, column, &allowed)?;
            }
        }
    }
    table.is_full().then_some(table.cells)
}

/// A table of whole numbers that is being filled.
struct Table {
    cells: Vec<Vec<u64>>,
    /// What is missing in the sum of each row.
    of_row: Vec<u64>,
    /// What is missing in the sum of each column.
    of_column: Vec<u64>,
}

impl Table {
    fn new(rows: &[u64], columns: &[u64]) -> Table {
        let cells = vec![vec![0; columns.len()]; rows.len()];
        Table { cells, of_row: rows.to_vec(), of_column: columns.to_vec() }
    }

    /// What is missing both in a row and in a column.
    fn missing(&self, row: usize, column: usize) -> u64 {
        self.of_row[row].min(self.of_column[column])
    }

    fn is_full(&self) -> bool {
        self.of_row.iter().chain(&self.of_column).all(|missing| *missing == 0)
    }

    /// Adds as much to a cell as its sums allow, up to `most`.
    fn give(&mut self, row: usize, column: usize, most: u64) {
        let given = most.min(self.missing(row, column));
        self.cells[row][column] += given;
        self.of_row[row] -= given;
        self.of_column[column] -= given;
    }

    /// Fills some of what is missing in a row and in a column whose common cell is not allowed:
    /// takes it from another cell, and gives it to the row in that cell's column and to the column
    /// in that cell's row. `None` if no cell can be used.
    fn exchange(
        &mut self,
        row: usize,
        column: usize,
        allowed: impl Fn(usize, usize) -> bool,
    ) -> Option<()> {
        for other_row in
            (0..self.cells.len()).filter(|&other| other != row && allowed(other, column))
        {
            for other_column in
                (0..self.of_column.len()).filter(|&other| other != column && allowed(row, other))
            {
                let moved = self.cells[other_row][other_column].min(self.missing(row, column));
                if moved > 0 {
                    self.cells[other_row][other_column] -= moved;
                    self.cells[other_row][column] += moved;
                    self.cells[row][other_column] += moved;
                    self.of_row[row] -= moved;
                    self.of_column[column] -= moved;
                    return Some(());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(matrix: &[Vec<u64>]) -> (Vec<u64>, Vec<u64>) {
        let rows = matrix.iter().map(|row| row.iter().sum()).collect();
        let width = matrix.first().map_or(0, Vec::len);
        let columns = (0..width).map(|column| matrix.iter().map(|row| row[column]).sum()).collect();
        (rows, columns)
    }

    #[test]
    fn two_hosts_leave_no_choice() {
        assert_eq!(pairs(&[5, 7], &[7, 5]), Some(vec![vec![0, 5], vec![7, 0]]));
        assert_eq!(pairs(&[5, 7], &[5, 7]), None);
    }

    #[test]
    fn equal_hosts_share_alike() {
        let matrix = pairs(&[4, 4, 4], &[4, 4, 4]).expect("a matrix");
        assert_eq!(matrix, [[0, 2, 2], [2, 0, 2], [2, 2, 0]]);
    }

    #[test]
    fn a_product_of_rows_and_columns_is_found_again() {
        // From host i to host j, (i + 1) × (j + 2) × 1000.
        let true_matrix: Vec<Vec<u64>> = (0..4_u64)
            .map(|i| (0..4).map(|j| if i == j { 0 } else { (i + 1) * (j + 2) * 1000 }).collect())
            .collect();
        let (rows, columns) = sums(&true_matrix);
        assert_eq!(pairs(&rows, &columns), Some(true_matrix));
    }

    #[test]
    fn the_whole_numbers_of_apportioning_add_up() {
        assert_eq!(apportion(&[1.0, 1.0, 1.0], 5), [2, 2, 1]);
        assert_eq!(apportion(&[0.0, 3.0, 1.0], 8), [0, 6, 2]);
        assert_eq!(
            apportion(&[1.0, 1e300], u64::MAX).iter().map(|&k| u128::from(k)).sum::<u128>(),
            u128::from(u64::MAX)
        );
    }

    proptest! {
        #[test]
        fn sums_are_exact(cells in proptest::collection::vec(0_u64..1_000_000, 25)) {
            let mut matrix: Vec<Vec<u64>> = cells.chunks(5).map(<[u64]>::to_vec).collect();
            (0..5).for_each(|k| matrix[k][k] = 0);
            let (rows, columns) = sums(&matrix);
            let fitted = pairs(&rows, &columns).expect("the matrix itself has these sums");
            prop_assert_eq!(sums(&fitted), (rows, columns));
            prop_assert!((0..5).all(|k| fitted[k][k] == 0));
        }

        #[test]
        fn sparse_sums_are_exact(cells in proptest::collection::vec((0_u64..4).prop_map(|k| k / 3), 16)) {
            let mut matrix: Vec<Vec<u64>> = cells.chunks(4).map(<[u64]>::to_vec).collect();
            (0..4).for_each(|k| matrix[k][k] = 0);
            let (rows, columns) = sums(&matrix);
            let fitted = pairs(&rows, &columns).expect("the matrix itself has these sums");
            prop_assert_eq!(sums(&fitted), (rows, columns));
            prop_assert!((0..4).all(|k| fitted[k][k] == 0));
        }

        #[test]
        fn a_column_is_split_among_tasks(
            reads in proptest::collection::vec(0_u64..1_000, 1..8),
            weights in proptest::collection::vec(0_u64..1_000, 3),
        ) {
            let total: u64 = reads.iter().sum();
            let weights: Vec<f64> = weights.into_iter().map(|k| k as f64 + 1.0).collect();
            let column = apportion(&weights, total);
            let table = split(&column, &reads);
            prop_assert_eq!(sums(&table), (column, reads));
        }
    }
}
