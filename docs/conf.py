"""How Sphinx builds these pages; no network is needed.

pip install '.[docs]' && sphinx-build -W -n --keep-going docs build/docs
"""

from dpscd import __version__

project = "dpscd"
author = "The dpscd developers"
version = release = __version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser"]
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"dpscd {version}"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["console.css"]

# Links to headings of other pages, as GitHub writes them.
myst_heading_anchors = 4

# The tables of parameters say types in words; annotations would say them twice.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
