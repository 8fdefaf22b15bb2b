//! Tables as kubectl prints them: columns as wide as their widest cell, three blanks apart.

/// A column is no narrower than this, its blanks included.
const NARROWEST: usize = 6;

/// Writes rows of cells. What a terminal would take for a command is shown: names and texts are other people's.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| visible(row.as_ref())).collect();
    let mut widths: Vec<usize> = Vec::new();
    for cells in &rows {
        widths.resize(widths.len().max(cells.len()), NARROWEST);
        for (cell, width) in cells.iter().zip(&mut widths) {
            *width = (*width).max(cell.chars().count() + 3);
        }
    }
    let mut text = String::new();
    for row in &rows {
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

fn visible(cells: &[String]) -> Vec<String> {
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
    fn nothing_in_a_cell_is_a_command_to_the_terminal() {
        let rows = [["NAME", "X"], ["\u{1b}[31m", "a\nb"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "NAME         X\n\\u{1b}[31m   a\\nb\n");
    }
}
