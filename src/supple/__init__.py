"""temporary"""
from supple.model.builder import ModelBuilder
