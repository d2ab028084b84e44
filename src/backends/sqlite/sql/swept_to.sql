SELECT swept FROM store
