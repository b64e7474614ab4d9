"""Charts of the HTML report, as SVG."""
