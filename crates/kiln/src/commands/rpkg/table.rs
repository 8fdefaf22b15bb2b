//! Tables as kubectl prints them: columns as wide as their widest cell, three blanks apart.

/// A column is no narrower than this, its blanks included.
const NARROWEST: usize = 6;

/// Writes rows of cells.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        let cells = row.as_ref();
        widths.resize(widths.len().max(cells.len()), NARROWEST);
        for (cell, width) in cells.iter().zip(&mut widths) {
            *width = (*width).max(cell.chars().count() + 3);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            line.push_str(cell);
            let blanks = width.saturating_sub(cell.chars().count());
            line.push_str(&" ".repeat(blanks));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
