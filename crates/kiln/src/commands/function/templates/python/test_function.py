"""Tests function.py: python3 test_function.py"""

import unittest

from function import transform


class Replicas(unittest.TestCase):
    def list_with(self, data):
        deployment = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}}
        other = {"kind": "Other", "metadata": {"name": "other"}, "spec": {"replicas": 1}}
        return {"items": [deployment, other], "functionConfig": {"data": data}}

    def test_deployments_get_the_number(self):
        resource_list = self.list_with({"replicas": "3"})
        results = transform(resource_list)
        self.assertEqual([item["spec"]["replicas"] for item in resource_list["items"]], [3, 1])
        self.assertEqual([result["severity"] for result in results], ["info"])

    def test_a_configuration_without_a_number_is_an_error(self):
        for data in ({}, {"replicas": "many"}):
            self.assertEqual(transform(self.list_with(data))[0]["severity"], "error")


if __name__ == "__main__":
    unittest.main()
