//! Tables as kubectl prints them: columns as wide as their widest cell, three spaces apart.

/// The minimum width of a column, spaces included.
const MIN_WIDTH: usize = 6;

/// Formats rows of cells. Control characters are escaped, because the text in cells is not trusted.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| escaped(row.as_ref())).collect();
    let mut widths: Vec<usize> = Vec::new();
    for cells in &rows {
        widths.resize(widths.len().max(cells.len()), MIN_WIDTH);
        for (cell, width) in cells.iter().zip(&mut widths) {
            *width = (*width).max(cell.chars().count() + 3);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let spaces = width.saturating_sub(cell.chars().count());
            line.push_str(&" ".repeat(spaces));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn escaped(cells: &[String]) -> Vec<String> {
    let letter = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    let cells = cells.iter();
    cells
        .map(|cell| cell.chars().map(letter).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn control_characters_in_cells_are_escaped() {
        let rows = [["NAME", "X"], ["\u{1b}[31m", "a\nb"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "NAME         X\n\\u{1b}[31m   a\\nb\n");
    }
}
