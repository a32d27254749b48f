"""Where people and programs come in: parse, call one verb of `app`, render. Surfaces never meet each other."""
