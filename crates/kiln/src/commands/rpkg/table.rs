//! Tables as kubectl prints them: columns as wide as their widest cell, three blanks apart.

/// Writes rows of cells.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(|column| width(column) + 3).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let blanks = width.saturating_sub(cell.chars().count());
            line.push_str(&" ".repeat(blanks));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
