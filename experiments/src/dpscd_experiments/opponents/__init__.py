"""Whom our estimators are compared with, one small module each."""
