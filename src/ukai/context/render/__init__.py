"""The text of a document: its structure is the composer's, the body of a thing is a template's (context req. 34)."""
