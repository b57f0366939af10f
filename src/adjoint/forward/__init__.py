"""Forward mode: arrays that carry a tangent along."""
