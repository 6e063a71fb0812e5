"""Being here puts this folder on the path, so that tests can import its helpers (`robots`, `oracle`)."""
