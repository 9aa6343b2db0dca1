// adc opt --passes=canonicalize,dce
// Where shapes are known to differ, one of the checks that they do not fails: what comes after it is never reached, and a
// loop that begins so has no iteration, or ends with the error.

func.func @versions(%u: memref<?x?xf64>, %v: memref<?x?xf64>, %k: index) -> f64 {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %u, 0 : memref<?x?xf64>
  %n = memref.dim %u, 1 : memref<?x?xf64>
  %p = memref.dim %v, 0 : memref<?x?xf64>
  %q = memref.dim %v, 1 : memref<?x?xf64>
  %rows = arith.cmpi eq, %m, %p : index
  %columns = arith.cmpi eq, %n, %q : index
  %alike = arith.andi %rows, %columns : i1
  %t = scf.if %alike -> (f64) {
    %s = scf.for %step = %c0 to %k step %c1 iter_args(%so_far = %zero) -> (f64) {
      %x = memref.load %u[%step, %step] : memref<?x?xf64>
      %more = arith.addf %so_far, %x : f64
      scf.yield %more : f64
    }
    scf.yield %s : f64
  } else {
    %s = scf.for %step = %c0 to %k step %c1 iter_args(%so_far = %zero) -> (f64) {
      adc.assert %rows {error = "ShapeError", message = "rows differ"} : i1
      adc.assert %columns {error = "ShapeError", message = "columns differ"} : i1
      %x = memref.load %u[%step, %step] : memref<?x?xf64>
      %y = math.sin %x : f64
      %more = arith.addf %so_far, %y : f64
      scf.yield %more : f64
    }
    scf.yield %s : f64
  }
  func.return %t : f64
}

func.func @branches(%p: i1, %q: i1, %x: f64, %a: memref<?xf64>) -> f64 {
  %false = arith.constant false : i1
  %c0 = arith.constant 0 : index
  %first = scf.if %p -> (f64) {
    %s = math.sin %x : f64
    scf.yield %s : f64
  } else {
    adc.assert %q {error = "ValueError", message = "neither"} : i1
    adc.assert %false {error = "ValueError", message = "only the second"} : i1
    memref.store %x, %a[%c0] : memref<?xf64>
    %s = math.cos %x : f64
    scf.yield %s : f64
  }
  %second = scf.if %q -> (f64) {
    scf.yield %first : f64
  } else {
    memref.store %first, %a[%c0] : memref<?xf64>
    adc.assert %false {error = "ValueError", message = "after a store"} : i1
    %s = math.cos %x : f64
    scf.yield %s : f64
  }
  func.return %second : f64
}

// becomes
func.func @versions(%u: memref<?x?xf64>, %v: memref<?x?xf64>, %k: index) -> f64 {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %u, 0 : memref<?x?xf64>
  %n = memref.dim %u, 1 : memref<?x?xf64>
  %p = memref.dim %v, 0 : memref<?x?xf64>
  %q = memref.dim %v, 1 : memref<?x?xf64>
  %rows = arith.cmpi eq, %m, %p : index
  %columns = arith.cmpi eq, %n, %q : index
  %alike = arith.andi %rows, %columns : i1
  %t = scf.if %alike -> (f64) {
    %s = scf.for %step = %c0 to %k step %c1 iter_args(%so_far = %zero) -> (f64) {
      %x = memref.load %u[%step, %step] : memref<?x?xf64>
      %more = arith.addf %so_far, %x : f64
      scf.yield %more : f64
    }
    scf.yield %s : f64
  } else {
    %0 = arith.cmpi sle, %k, %c0 : index
    %1 = arith.ori %rows, %0 : i1
    adc.assert %1 {error = "ShapeError", message = "rows differ"} : i1
    adc.assert %0 {error = "ShapeError", message = "columns differ"} : i1
    scf.yield %zero : f64
  }
  func.return %t : f64
}

func.func @branches(%p: i1, %q: i1, %x: f64, %a: memref<?xf64>) -> f64 {
  %false = arith.constant false : i1
  %c0 = arith.constant 0 : index
  %0 = arith.ori %q, %p : i1
  adc.assert %0 {error = "ValueError", message = "neither"} : i1
  adc.assert %p {error = "ValueError", message = "only the second"} : i1
  %s = math.sin %x : f64
  scf.if %q {
    scf.yield
  } else {
    memref.store %s, %a[%c0] : memref<?xf64>
    adc.assert %false {error = "ValueError", message = "after a store"} : i1
    scf.yield
  }
  func.return %s : f64
}
