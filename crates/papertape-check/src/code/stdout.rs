//! Findings about the bytes on stdout: PT01xx.

codes! {
    PT0101 Breaks "Text on stdout that is not a message"
    PT0102 Breaks "Text on the line of a message"
    PT0103 Breaks "Content-Length framing on stdout"
    PT0104 Breaks "Content-Length framing awaited on stdin"
    PT0105 Breaks "Messages over several lines"
    PT0106 Breaks "Messages without a line end"
    PT0107 Breaks "Output that is not flushed"
    PT0108 Breaks "A byte order mark on stdout"
    PT0109 Breaks "UTF-16 on stdout"
    PT0110 Breaks "Invalid UTF-8 in a message"
    PT0111 Note "Lines that end with CR LF"
    PT0112 Warning "Empty lines on stdout"
    PT0113 Breaks "A message that is not valid JSON"
    PT0114 Breaks "A batch that was not asked for"
    PT0115 Note "Text on stderr"
    PT0116 Warning "JSON that some parsers refuse"
}
