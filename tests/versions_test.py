import pytest

from agrae_jax.versions import versions


def test_versions_name_python_packages_and_code():
    found = versions()
    assert found["python"].count(".") == 2
    assert found["packages"]["jax"].count(".") >= 2
    assert len(found["code"]) == 16
    assert found == versions()


def test_code_hash_changes_with_a_source(monkeypatch, tmp_path):
    from agrae_jax import versions as module

    monkeypatch.setattr(module, "__file__", str(tmp_path / "versions.py"))
    (tmp_path / "a.py").write_text("x = 1")
    before = versions()["code"]
    (tmp_path / "a.py").write_text("x = 2")
    assert versions()["code"] != before


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__]))
